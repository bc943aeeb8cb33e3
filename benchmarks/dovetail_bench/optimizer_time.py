"""Time of the whole optimizer on the queries of a suite, warm: plain Spark, Dovetail bare, analyzed and after one pass.

    python -m dovetail_bench.optimizer_time
    python -m dovetail_bench.optimizer_time --suite tpch --scale 1
    python -m dovetail_bench.optimizer_time --suite small

Queries are only planned, from the analyzed plan to the optimized one; they do not run. All modes plan each query until
the JVM has compiled what it needs, and then in rounds. Every mode goes first equally often, and the median counts.
Dovetail's cost is its time minus plain Spark's, query by query. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from dovetail.demo.data import Dataset, dataset
from dovetail_bench import report, small_queries
from dovetail_bench.progress import say
from dovetail_bench.queries import FOLDERS, Query, load
from dovetail_bench.session import (
    DOVETAIL,
    DOVETAIL_BARE,
    DOVETAIL_ONE_PASS,
    SPARK,
    Bench,
    Mode,
    add_session_options,
    bench,
)
from dovetail_bench.small_queries import SMALL

MODES = (SPARK, DOVETAIL_BARE, DOVETAIL, DOVETAIL_ONE_PASS)

# Time that Dovetail may add to plain Spark's, in ms: at the median of all queries, for 95 % of them, for each of them.
TARGETS = {"median": 10.0, "95 %": 50.0, "worst": 200.0}

# The same for queries of one or two tables.
SMALL_TARGETS = {"worst": 2.0}

MILLISECONDS = 1000


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Median milliseconds of each query and mode."""
    small = options.suite == SMALL
    queries = small_queries.load(options.queries) if small else load(options.suite, options.queries)
    data = dataset("tpcds" if small else FOLDERS[options.suite][1], options.scale, options.data_dir)
    with bench(options) as session:
        session.register(data)
        session.collect(data)
        for turn in range(options.warm_up):
            say(f"warming up, {turn + 1} of {options.warm_up}")
            for query in queries:
                for mode in MODES:
                    _plan_ms(session, data, mode, query)
        times: dict[str, dict[str, list[float]]] = {q.name: {m.name: [] for m in MODES} for q in queries}
        for turn in range(options.rounds):
            say(f"round {turn + 1} of {options.rounds}")
            for number, query in enumerate(queries):
                first = (turn + number) % len(MODES)
                for mode in MODES[first:] + MODES[:first]:
                    times[query.name][mode.name].append(_plan_ms(session, data, mode, query))
    return [{"query": name} | {m: round(median(ms), 2) for m, ms in of.items()} for name, of in times.items()]


def summary(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Time of each mode: of the median query, and of all queries together."""
    return [
        {
            "mode": mode.title,
            "median ms": round(median(line[mode.name] for line in lines), 1),
            "all, ms": round(sum(line[mode.name] for line in lines)),
        }
        for mode in MODES
    ]


def targets(lines: Sequence[dict[str, Any]], limits: dict[str, float]) -> list[dict[str, Any]]:
    """Time that each of Dovetail's modes adds to plain Spark's, against the limits in ms."""
    found = []
    for mode in MODES:
        if mode is SPARK:
            continue
        added = sorted((line[mode.name] - line[SPARK.name], line["query"]) for line in lines)
        worst, query = added[-1]
        measured = {
            "median": median(ms for ms, _ in added),
            "95 %": added[int(0.95 * (len(added) - 1))][0],
            "worst": worst,
        }
        for name, limit in limits.items():
            value = measured[name]
            shown = f"{value:.1f} ms" + (f" ({query})" if name == "worst" else "")
            found.append(report.target(f"{mode.title}: {name} ≤ {limit:g} ms", shown, value <= limit))
    return found


def _plan_ms(session: Bench, data: Dataset, mode: Mode, query: Query) -> float:
    session.use(mode, data)
    execution = session.spark.sql(query.text)._jdf.queryExecution()
    execution.withCachedData()
    started = time.perf_counter()
    execution.optimizedPlan()
    return (time.perf_counter() - started) * MILLISECONDS


def main(arguments: Sequence[str] | None = None) -> int:
    head, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.optimizer_time", description=head)
    parser.add_argument("--suite", choices=[*sorted(FOLDERS), SMALL], default="tpcds")
    parser.add_argument("--queries", nargs="+", default=[], metavar="NAME", help="names of queries (all)")
    parser.add_argument("--rounds", type=int, default=4, help="rounds that count, a multiple of the modes (4)")
    parser.add_argument("--warm-up", type=int, default=3, help="rounds before them (3)")
    report.add_options(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    lines = run(options)
    page = report.Page("optimizer_time", "Time of the optimizer", options.suite)
    page.text("From the analyzed plan to the optimized one, warm, median of the rounds, nothing run; milliseconds.")
    page.table("All queries", summary(lines))
    found = targets(lines, SMALL_TARGETS if options.suite == SMALL else TARGETS)
    page.targets(found)
    page.table("Queries", lines)
    page.write(options, {"summary": summary(lines), "targets": found, "queries": lines})
    return 0 if all(t["hit"] for t in found) else 1


if __name__ == "__main__":
    sys.exit(main())
