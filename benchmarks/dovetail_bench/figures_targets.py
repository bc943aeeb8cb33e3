"""Targets for `figures`: a line per benchmark and the missed ones for the page, and the list of all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dovetail_bench import figures_data as data
from dovetail_bench.report import RESULTS, markdown_table
from dovetail_bench.session import DOVETAIL_BARE, DOVETAIL_ONE_PASS

# The list of all targets.
FILE = RESULTS / "targets.md"

HEAD = """# Targets

All targets of the newest results of each benchmark, with the measured values. The name of a benchmark is that of its
results file. `python -m dovetail_bench.figures` writes this page; docs/benchmarks.md summarizes it.

"""

# Command → its title, and what it measures.
BENCHMARKS = {
    "caution": ("cautious plans", "join rows that it costs to leave expressions that may fail where they were written"),
    "collection": ("collection", "time of `dovetail.analyze`, compared with Spark's ANALYZE with histograms"),
    "constants": ("changing constants", "whether the history of a query helps the same query with other constants"),
    "cost_correlation": ("costs and time", "whether queries of higher estimated cost take longer"),
    "delta_planning": ("planning on Delta Lake", "time of the optimizer on Delta tables"),
    "drills": (
        "drills",
        "whether a killed driver, concurrent writers, overwritten files or a hanging directory do harm",
    ),
    "false_statistics": ("false row counts", "time of queries whose row counts are wrong by a factor of 1,000"),
    "fuzz": ("generated queries", "whether generated queries return the rows of plain Spark and of DuckDB"),
    "history_cost": ("cost of the history", "time of the look-up at planning, and of the threads that record runs"),
    "join_rows": ("join rows", "join rows of each query of a suite, compared with plain Spark and its CBO"),
    "learning": ("learning", "whether the history improves the orders of queries that run again"),
    "memory": ("memory", "whether a query fails for lack of memory with Dovetail alone, under small drivers"),
    "micro": ("search", "time of the search by the shape of the join graph"),
    "optimizer_time": ("optimizer", "time that Dovetail adds to the optimizer per query, warm"),
    "order_robustness": ("random join orders", "whether random join orders give the same answers"),
    "real_data": ("real data", "join orders and estimates on real data, compared with the truth"),
    "repeated_runs": ("repeated runs", "whether a suite gets faster when it runs again with its history"),
    "run_time_orders": ("orders at run time", "answers and join rows of queries whose order changes at run time"),
    "setting_gains": ("single features", "answers and time of the queries that one setting changes"),
    "spark_suites": ("Spark's SQL suites", "whether Spark's own test statements give the same rows and errors"),
    "star_schemas": ("Star Schema Benchmark", "join rows of star joins, compared with Spark's star heuristics"),
    "start": ("start", "time that Dovetail adds to the start of a session and to the first plan"),
    "times": ("times", "seconds and shuffled bytes of each query of a suite, compared with plain Spark and its CBO"),
}

# What the names in results files mean, as patterns with their replacements.
NAMES = (
    (r"^-|^-?SearchBenchmark$", ""),
    (r"^small", "small queries,"),
    (r"tpcds", "TPC-DS"),
    (r"tpch", "TPC-H"),
    (r"-?sf([\d.]+)$", r" scale \1"),
    (r"spark(\d+\.\d+\.\d+)", r"Spark \1"),
    (r"-from(\d+)$", r", from query \1 on"),
    (r"-passes(\d+)-(\d+)$", r", passes \1 and \2"),
    (r"^(\w+)-dialect-", r"\1 dialect, "),
)
WORDS = (
    (r"\bC_out (over|/) (the )?best\b", "join rows over those of the best order"),
    (r"\brows out of joins\b", "join rows"),
    (DOVETAIL_BARE.name, DOVETAIL_BARE.title),
    (DOVETAIL_ONE_PASS.name, DOVETAIL_ONE_PASS.title),
    (r"^Dovetail:", "Dovetail, analyzed:"),
    (r"\btpcds\b", "TPC-DS"),
    (r"\btpch\b", "TPC-H"),
    (r"^search of ([a-z]+)(\d+):", r"search of a \1 of \2 tables:"),
    (r"^all: ", "all estimates: "),
    (r"^joins: ", "estimates of joins: "),
    (r"\bgroups reordered\b", "groups of joins reordered"),
)


def summary() -> str:
    """How many targets each benchmark hits, and the missed ones.

    Raises:
        KeyError: A benchmark is missing in `BENCHMARKS`.
    """
    found = [(data.command(name), name, target) for name, target in data.targets()]
    hits: dict[str, list[bool]] = {}
    for command, _, target in found:
        hits.setdefault(command, []).append(bool(target["hit"]))
    lines = [(*BENCHMARKS[command], f"{sum(hit)} of {len(hit)}") for command, hit in hits.items()]
    missed = [
        (_title(command, name), words(target), number(target["measured"]))
        for command, name, target in found
        if not target["hit"]
    ]
    return (
        markdown_table(("benchmark", "what it measures", "targets hit"), lines)
        + "\nMissed:\n\n"
        + markdown_table(("benchmark", "target", "measured"), missed)
    )


def page() -> str:
    """The page with all targets, hit or missed."""
    rows = [
        (name, words(target), number(target["measured"]), "hit" if target["hit"] else "**missed**")
        for name, target in data.targets()
    ]
    return HEAD + markdown_table(("benchmark", "target", "measured", ""), rows)


def words(target: Mapping[str, Any]) -> str:
    """The target in words, after the mode or engine that it is about, if the results name one."""
    of = target.get("mode") or target.get("engine")
    text = _replaced(str(target["target"]), WORDS)
    return f"{of}: {text}" if of else text


def number(value: object) -> str:
    """A value of a table: numbers with separators, others as they are."""
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _title(command: str, name: str) -> str:
    """Title of a benchmark with its data set, such as "times: TPC-DS, scale 10"."""
    data_set = _replaced(name.removeprefix(command), NAMES).strip()
    return ": ".join(filter(None, (BENCHMARKS[command][0], data_set)))


def _replaced(text: str, replacements: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in replacements:
        text = re.sub(pattern, replacement, text)
    return text
