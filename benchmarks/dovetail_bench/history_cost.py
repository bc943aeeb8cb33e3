"""What the history costs: its look-up while a query is planned, and the threads that record runs.

    python -m dovetail_bench.history_cost --suite tpcds --rounds 2

Nothing is analyzed. A first round without history warms up the JVM. Then every query runs once per round with history.
After each run, the query is planned once more, and explain says how long the look-up took. At the end, all queries are
planned some times more, without running, for the look-up of a warm optimizer. The CPU time of the history's threads is
read after each run; that of a thread which ended during a long query is not known. Exit code 1 if a query fails, with
--gate also if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

import dovetail
from dovetail import DovetailError, _sql
from dovetail_bench import report
from dovetail_bench.cpu import NANOSECONDS
from dovetail_bench.join_rows import add_options
from dovetail_bench.metrics import reason
from dovetail_bench.progress import say
from dovetail_bench.session import DOVETAIL_BARE, HISTORY, frame_of, suite_bench

# Largest median of the look-up, in ms.
MAX_LOOKUP_MS = 1.0

# Largest share of the time of all queries that the history's thread computes.
MAX_SHARE = 0.01

# Plannings of each query before the one that counts as warm. Compiled code needs some hundred calls.
WARM = 10

# Names of the threads that work for the history: one makes the keys of a query's joins, among the rest of the query
# log, and the other one records runs. Rows are read from the plan in Spark's own thread for listeners.
THREADS = ("dovetail-history", "dovetail-log")


@dataclass(frozen=True)
class Run:
    """A run of a query with history.

    Attributes:
        query: Name of the query.
        seconds: Time of the query.
        planning_ms: Time of the rule that orders joins, when the query was planned again.
        lookup_ms: The part of it that looks into the history.
        warm_ms: The same in the last of many plannings.
    """

    query: str
    seconds: float
    planning_ms: float
    lookup_ms: float
    warm_ms: float = 0.0


@dataclass(frozen=True)
class Found:
    """All runs, and the CPU seconds that the history's thread took for them."""

    runs: list[Run]
    thread_seconds: float
    failures: dict[str, str]

    @property
    def seconds(self) -> float:
        """Time of all queries."""
        return sum(run.seconds for run in self.runs)


def run(options: argparse.Namespace) -> Found:
    """Runs all queries in all rounds."""
    failures: dict[str, str] = {}
    runs: list[Run] = []
    texts: dict[str, str] = {}
    # a thread that is idle ends, so the threads are looked at after each query
    before: dict[int, float] = {}
    after: dict[int, float] = {}
    with suite_bench(options, DOVETAIL_BARE) as (session, _, queries):
        texts |= {query.name: query.text for query in queries}
        for number in range(options.rounds + 1):
            session.spark.conf.set(HISTORY, "true" if number else "false")
            if number == 1:
                before = history_thread_seconds(session.spark)
            for query in queries:
                if query.name in failures:
                    continue
                try:
                    started = time.monotonic()
                    # not DOVETAIL PROFILE, which leaves no trace in the history
                    frame_of(session.spark, query.text).collect()
                    seconds = time.monotonic() - started
                    if number:
                        after |= history_thread_seconds(session.spark)
                        # the history has the run now
                        if not _sql.function_rows(session.spark, "dovetail_history"):
                            raise DovetailError("no run is in the history")
                        phases = dovetail.explain(query.text, session.spark).to_dict()["planning_ms"]
                        runs.append(Run(query.name, seconds, phases["total"], phases["history"]))
                except Exception as failed:  # an error of Spark is a finding about this query and ends no run
                    failures[query.name] = reason(failed)
            say(f"round {number} of {options.rounds}: {sum(r.seconds for r in runs):.1f} s with history so far")
        after |= history_thread_seconds(session.spark)
        for _ in range(WARM):
            runs = [replace(r, warm_ms=_lookup_ms(session.spark, texts[r.query])) for r in runs]
    spent = sum(seconds - before.get(thread, 0.0) for thread, seconds in after.items())
    return Found([r for r in runs if r.query not in failures], spent, failures)


def _lookup_ms(spark: SparkSession, text: str) -> float:
    return float(dovetail.explain(text, spark).to_dict()["planning_ms"]["history"])


def history_thread_seconds(spark: SparkSession) -> dict[int, float]:
    """CPU seconds of each of the history's threads that runs, by its number."""
    threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()  # type: ignore[union-attr]
    seconds = {}
    for identity in threads.getAllThreadIds():
        found = threads.getThreadInfo(identity)
        if found is not None and found.getThreadName().startswith(THREADS):
            seconds[int(identity)] = max(0, threads.getThreadCpuTime(identity)) / (1000 * NANOSECONDS)
    return seconds


def targets(found: Found) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    lookup = median(run.warm_ms for run in found.runs)
    share = found.thread_seconds / found.seconds
    return [
        report.target(
            f"median of the look-up, warm optimizer, at most {MAX_LOOKUP_MS:g} ms", lookup, lookup <= MAX_LOOKUP_MS
        ),
        report.target(
            f"CPU time of the threads that record at most {MAX_SHARE:.0%} of the queries' time",
            f"{share:.2%}",
            share <= MAX_SHARE,
        ),
        report.target("queries that fail: none", ", ".join(found.failures) or "none", not found.failures),
    ]


def write_page(page: report.Page, found: Found, goals: Sequence[dict[str, Any]]) -> None:
    """Fills the page."""
    page.text(
        f"{len(found.runs)} runs, nothing analyzed: {found.seconds:.1f} s of queries, {found.thread_seconds:.2f} s of "
        "CPU time of the threads that record them. The look-up is a part of the planning time. Its median is "
        f"{median(run.lookup_ms for run in found.runs):.2f} ms in the second planning of each query, and "
        f"{median(run.warm_ms for run in found.runs):.2f} ms in the last of {WARM} more."
    )
    page.targets(goals)
    slowest = sorted(found.runs, key=lambda run: -run.lookup_ms)[:10]
    page.table("The ten longest look-ups", [asdict(run) for run in slowest])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.history_cost", description=head)
    add_options(parser)
    parser.add_argument("--rounds", type=int, default=2, help="runs of each query with history (2)")
    options = report.parse(parser, arguments)
    found = run(options)
    page = report.Page("history_cost", f"Cost of the history, {options.suite}, scale {options.scale:g}", options.suite)
    goals = targets(found)
    write_page(page, found, goals)
    page.write(
        options,
        {
            "targets": goals,
            "failures": found.failures,
            "thread_seconds": found.thread_seconds,
            "runs": [asdict(r) for r in found.runs],
        },
    )
    return 1 if found.failures or (options.gate and not all(target["hit"] for target in goals)) else 0


if __name__ == "__main__":
    sys.exit(main())
