"""The physical plan that ran, after adaptive execution, in a form in which equal plans are equal texts.

`DOVETAIL PROFILE` runs its query as an execution inside its own, and Spark's status store keeps the plan of every
execution up to date while adaptive execution changes it. `rounds` compares the plans of the modes.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pyspark.sql import SparkSession

# Plans as trees without the list of details below them, which numbers operators; and nothing of them cut off.
_SETTINGS = {
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxMetadataStringLength": "1000000",
    "spark.sql.debug.maxToStringFields": "100000",
}

_FINAL = "== Final Plan =="
_INITIAL = "== Initial Plan =="

# Adaptive execution writes these where an input turned out to be empty, and drops what ran below it.
_EMPTY = ("EmptyRelation", "LocalTableScan <empty>")

# Given anew in every plan: ids of expressions and subqueries, and those of plans.
_ID = re.compile(r"(#|plan_id=)(\d+)")

# Given in the order in which stages end, which is a race: numbers of stages, and of generated code.
_RACE = re.compile(r"(?<=QueryStage )\d+|(?<=\*\()\d+(?=\))")

# A line's operator, where it is a join or an exchange.
_OPERATOR = re.compile(r"[ :+-]*(?:\*\(\) )?(\w*(?:Join|Exchange|CartesianProduct))\b")

# The same files are tables of two databases.
_DATABASE = re.compile(r"\b(tpcds|tpch)_(analyzed|bare)\b")


def watch(spark: SparkSession) -> None:
    """Makes the session keep plans in the form that `last` reads. The modes all pay for it."""
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)


def last(spark: SparkSession) -> str:
    """The plan of the last query that `DOVETAIL PROFILE` ran, normalized."""
    # Spark has no public door to plans of past executions; the names are those of all lines from 3.5 on.
    context: Any = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    store: Any = spark._jsparkSession.sharedState().statusStore()
    for place in reversed(range(int(store.executionsCount()))):
        execution = store.executionsList(place, 1).apply(0)
        if execution.rootExecutionId() != execution.executionId():
            return normalized(execution.physicalPlanDescription())
    raise LookupError("Spark's status store has no plan of a profiled query")


def normalized(text: str) -> str:
    """The final plan of a description, with ids numbered from 1 in their order of appearance."""
    tree = text.removeprefix("== Physical Plan ==\n").split("\n\n== ")[0].strip()
    final = without_initial(tree)
    # What ran below an empty input is in the initial plan alone.
    tree = tree if any(word in final for word in _EMPTY) else final
    tree = _RACE.sub("", _DATABASE.sub(r"\1", tree))
    numbers: dict[str, str] = {}
    return _ID.sub(lambda found: numbers.setdefault(found[0], f"{found[1]}{len(numbers) + 1}"), tree)


def operators(tree: str) -> dict[str, int]:
    """How many joins and exchanges of which kind a normalized plan has: what tells two plans apart in few words."""
    found = Counter(match[1] for match in map(_OPERATOR.match, tree.splitlines()) if match)
    return {name: found[name] for name in sorted(found)}


def without_initial(tree: str) -> str:
    """A tree without the initial plans, its own and those of its subqueries."""
    kept = []
    deeper: int | None = None
    for line in tree.splitlines():
        depth = len(line) - len(line.lstrip(" :+-"))
        if deeper is not None and depth > deeper:
            continue
        deeper = depth - len("+- ") if _INITIAL in line else None
        if deeper is None and _FINAL not in line:
            kept.append(line)
    return "\n".join(kept)
