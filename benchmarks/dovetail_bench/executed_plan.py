"""The physical plan that ran, after adaptive execution, in a normal form: equal plans have equal texts.

`DOVETAIL PROFILE` runs its query as an execution inside its own one, and Spark's status store keeps the plan of every
execution up to date while adaptive execution changes it. `rounds` compares the plans of the modes.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pyspark.sql import SparkSession

# Print plans as trees, without the list of details below them, which numbers operators, and without cutting texts off.
_SETTINGS = {
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxMetadataStringLength": "1000000",
    "spark.sql.debug.maxToStringFields": "100000",
}

_FINAL = "== Final Plan =="
_INITIAL = "== Initial Plan =="

# Adaptive execution writes these for an input that turned out to be empty, and drops the plan below it.
_EMPTY = ("EmptyRelation", "LocalTableScan <empty>")

# Ids that are new in every plan: those of expressions, of subqueries and of plans.
_ID = re.compile(r"(#|plan_id=)(\d+)")

# Numbers of stages and of generated code. They follow the order in which stages end, which is a race.
# The operator of a line, if it is a join or an exchange.
_RACE = re.compile(r"(?<=QueryStage )\d+|(?<=\*\()\d+(?=\))")

# A line's operator, where it is a join or an exchange.
_OPERATOR = re.compile(r"[ :+-]*(?:\*\(\) )?(\w*(?:Join|Exchange|CartesianProduct))\b")

# The tables of both databases are the same files.
_DATABASE = re.compile(r"\b(tpcds|tpch)_(analyzed|bare)\b")


def watch(spark: SparkSession) -> None:
    """Makes the session keep plans in the form that `last` reads. All modes pay for it alike."""
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)


def last(spark: SparkSession) -> str:
    """The plan of the last query that `DOVETAIL PROFILE` ran, normalized."""
    # Spark has no public API for plans of past executions; these names exist in all lines since 3.5.
    context: Any = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    store: Any = spark._jsparkSession.sharedState().statusStore()
    for place in reversed(range(int(store.executionsCount()))):
        found = store.executionsList(place, 1)
        # the store may have dropped its oldest executions meanwhile
        if found.isEmpty():
            continue
        execution = found.apply(0)
        if execution.rootExecutionId() != execution.executionId():
            return normalized(execution.physicalPlanDescription())
    raise LookupError("Spark's status store has no plan of a profiled query")


def normalized(text: str) -> str:
    """The final plan of a description, with ids renumbered from 1 in the order in which they appear."""
    tree = text.removeprefix("== Physical Plan ==\n").split("\n\n== ")[0].strip()
    final = without_initial(tree)
    # Only the initial plan shows what ran below an empty input.
    tree = tree if any(word in final for word in _EMPTY) else final
    tree = _RACE.sub("", _DATABASE.sub(r"\1", tree))
    numbers: dict[str, str] = {}
    return _ID.sub(lambda found: numbers.setdefault(found[0], f"{found[1]}{len(numbers) + 1}"), tree)


def operators(tree: str) -> dict[str, int]:
    """Number of joins and exchanges of each kind in a normalized plan: a short summary of how two plans differ."""
    found = Counter(match[1] for match in map(_OPERATOR.match, tree.splitlines()) if match)
    return {name: found[name] for name in sorted(found)}


def without_initial(tree: str) -> str:
    """A tree without initial plans, neither its own nor those of its subqueries."""
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
