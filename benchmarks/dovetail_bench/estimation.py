"""Cost of estimates at planning: footers, statistics and sizes on every TPC-DS query, with nothing analyzed.

    python -m dovetail_bench.estimation

For these times, queries are only planned; they do not run. `dovetail_explain` reports the times by phase. The JVM is
warm: it has planned the queries on a smaller copy of the data, which has other files. First comes one query over all 24
tables, while nothing is known of their files. Then comes every query of the benchmark, when all files are cached.

Next, the time that the log of queries (`spark.dovetail.log.queries`) adds to planning: EXPLAIN plans every query with
the log and without, in turns. What counts is the processor time of the planning thread, which a busy machine hardly
changes.

Last, every query runs on bare tables and after one pass over them. The estimates of its joins are compared with the
rows that the joins return (`step_errors`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from statistics import median
from typing import Any

import dovetail
from dovetail.demo.data import Dataset, dataset
from dovetail_bench import report, step_errors
from dovetail_bench.accuracy import quantile
from dovetail_bench.progress import say
from dovetail_bench.queries import FOLDERS, load
from dovetail_bench.session import DOVETAIL_BARE, Bench, add_session_options, bench

SUITE = "tpcds"

# Phases of Dovetail's rule that count as estimation: what it reads from files, and what it computes from that.
PHASES = ("footers", "extract", "estimate")

# Targets, in milliseconds.
MAX_CACHED = 30.0
MAX_FIRST = 150.0

# Share that the log may add to the time that Spark and Dovetail take to plan.
MAX_LOG_SHARE = 0.02
LOG_QUERIES = "spark.dovetail.log.queries"

# How often every query is planned with the log, and without; the median counts.
LOG_REPEAT = 7

NANOSECONDS_PER_MS = 1e6

# Scale of the data that warms the JVM.
WARM_UP_SCALE = 0.01

# Time limit for footers in milliseconds. With the default, reading would stop early; this measures all of it.
FOOTERS_MAX_MS = "spark.dovetail.footers.maxMs"
ALL_OF_THEM = "60000"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures the first query over all tables, every query after it, the log of queries, and estimates of joins."""
    data = [dataset(FOLDERS[SUITE][1], scale, options.data_dir) for scale in (WARM_UP_SCALE, options.scale)]
    queries = load(SUITE, options.queries)
    with bench(options) as session:
        session.spark.conf.set(FOOTERS_MAX_MS, ALL_OF_THEM)
        first = []
        for warm, tables in zip((False, True), data, strict=True):
            session.spark.sql("DROP DATABASE IF EXISTS tpcds_bare CASCADE")
            session.register(tables, analyze=False)
            session.use(DOVETAIL_BARE, tables)
            text = all_tables(session, tables)
            say("warm: all tables" if warm else "cold: all tables")
            for files in ("not seen", "cached"):
                first.append({"JVM": "warm" if warm else "new", "files": files, **_milliseconds(session, text)})
            lines = [{"query": query.name, **_milliseconds(session, query.text)} for query in queries]
        logged = [{"query": query.name, **_with_and_without_log(session, query.text)} for query in queries]
        steps = step_errors.measure(session, tables, queries)
        return {"all tables": first, "queries": lines, "log": logged, "steps": steps}


def _with_and_without_log(session: Bench, text: str) -> dict[str, float]:
    """Milliseconds of processor time to plan a query, with the log of queries and without."""
    times: dict[str, list[float]] = {"100": [], "0": []}
    for turn in range(LOG_REPEAT):
        for kept in ("100", "0") if turn % 2 else ("0", "100"):
            session.spark.conf.set(LOG_QUERIES, kept)
            times[kept].append(_planning_ms(session, text))
    session.spark.conf.unset(LOG_QUERIES)
    return {"logged ms": median(times["100"]), "not logged ms": median(times["0"])}


def _planning_ms(session: Bench, text: str) -> float:
    # Py4J serves a Python thread with one Java thread, in which Spark also plans
    jvm: Any = session.spark._jvm
    clock = jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    started = clock.getCurrentThreadCpuTime()
    session.spark.sql(f"EXPLAIN {text}")
    return float(clock.getCurrentThreadCpuTime() - started) / NANOSECONDS_PER_MS


def all_tables(session: Bench, data: Dataset) -> str:
    """A query that joins every table to the next one on their first columns."""
    first = {table: session.spark.table(table).columns[0] for table in data.tables}
    names = list(data.tables)
    on = (f"{a}.{first[a]} = {b}.{first[b]}" for a, b in pairwise(names))
    return f"SELECT count(*) FROM {', '.join(names)} WHERE {' AND '.join(on)}"


def _milliseconds(session: Bench, text: str) -> dict[str, float]:
    phases = dovetail.explain(text, session.spark).to_dict()["planning_ms"]
    return {
        "estimation ms": sum(float(phases[phase]) for phase in PHASES),
        **{f"{phase} ms": float(phases[phase]) for phase in (*PHASES, "search", "total")},
    }


def targets(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Targets, and whether each is hit. Older results files lack the log of queries and the joins."""
    cached = median(line["estimation ms"] for line in found["queries"])
    first = next(x for x in found["all tables"] if x["JVM"] == "warm" and x["files"] == "not seen")["estimation ms"]
    judged = [
        report.target(f"median per query, files cached: at most {MAX_CACHED:g} ms", cached, cached <= MAX_CACHED),
        report.target(f"24 tables for the first time: at most {MAX_FIRST:g} ms", first, first <= MAX_FIRST),
    ]
    if "log" in found:
        logged, without = (sum(line[name] for line in found["log"]) for name in ("logged ms", "not logged ms"))
        share = logged / without - 1
        name = f"share that the log of queries adds to planning: at most {MAX_LOG_SHARE:.0%}"
        judged.append(report.target(name, share, share <= MAX_LOG_SHARE))
    return judged + step_errors.targets(found.get("steps", {}))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.estimation", description=head)
    parser.add_argument("--queries", nargs="+", default=[], metavar="NAME", help="only these")
    report.add_options(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    found = run(options)
    found_targets = targets(found)
    cached = [line["estimation ms"] for line in found["queries"]]
    page = report.Page("estimation", "Planning time of estimates")
    page.text("Milliseconds in Dovetail's rule. Estimation: footers, predicates taken apart, sizes of all inputs.")
    page.targets(found_targets)
    page.table("One query over all 24 tables", found["all tables"])
    p95 = quantile(sorted(cached), 0.95)
    page.table("All queries, files cached", [{"median ms": median(cached), "95th ms": p95, "slowest ms": max(cached)}])
    page.table(
        "Planning all queries by EXPLAIN, processor time",
        [{name: sum(line[name] for line in found["log"]) for name in ("logged ms", "not logged ms")}],
    )
    step_errors.write(page, found["steps"])
    page.table("Queries", sorted(found["queries"], key=lambda line: -line["estimation ms"]))
    steps = {mode: [asdict(step) for step in of_mode] for mode, of_mode in found["steps"].items()}
    page.write(options, {"targets": found_targets, **found, "steps": steps})
    return 0 if all(target["hit"] for target in found_targets) else 1


if __name__ == "__main__":
    sys.exit(main())
