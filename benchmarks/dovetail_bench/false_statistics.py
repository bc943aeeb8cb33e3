"""What false row counts cost, and how much of it join orders that change at run time win back.

    python -m dovetail_bench.false_statistics --factor 1000

Nothing is analyzed. Every query runs in four ways: with true and with false row counts of its tables, each with the
planned join order and with `spark.dovetail.adaptive.reorder`. False counts are given with `dovetail.rows.tell`, because
Dovetail compares counts of a catalog with the files and would not believe them. Each table has its rows multiplied or
divided by the factor; a hash of its name and of the seed decides which. Exit code 1 if a query fails or an answer
differs, with --gate also if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from statistics import median
from typing import Any

import dovetail
from dovetail.comparison import differences
from dovetail.demo.data import Dataset
from dovetail_bench import report
from dovetail_bench.join_rows import add_options
from dovetail_bench.metrics import Profile, profile, reason
from dovetail_bench.progress import say
from dovetail_bench.rounds import latin_square
from dovetail_bench.run_time_orders import SETTING
from dovetail_bench.session import DOVETAIL_BARE, Bench, suite_bench

# Largest total time with false counts and orders that change at run time, over the time with true counts.
MAX_RATIO = 1.5


@dataclass(frozen=True)
class Way:
    """One way to run a query: with true or false counts, with planned orders or with orders that change at run time."""

    name: str
    false_counts: bool
    run_time: bool


WAYS = (
    Way("true counts", False, False),
    Way("true counts, run-time orders", False, True),
    Way("false counts", True, False),
    Way("false counts, run-time orders", True, True),
)


@dataclass
class Measurement:
    """All runs of a query: name of the way → one run per round."""

    query: str
    runs: dict[str, list[Profile]] = field(default_factory=lambda: {way.name: [] for way in WAYS})

    def seconds(self, way: Way) -> float:
        """Median time of the runs in this way."""
        return median(run.seconds for run in self.runs[way.name])

    def join_rows(self, way: Way) -> float:
        """Median number of rows out of all joins."""
        return median(run.join_rows for run in self.runs[way.name])

    @property
    def differs(self) -> bool:
        """Whether a run has another answer than the first one."""
        runs = [run for found in self.runs.values() for run in found]
        return any(differences(runs[0].digest, run.digest) for run in runs)


def false_rows(table: str, rows: int, factor: int, seed: int) -> int:
    """Rows of the table times the factor, or divided by it (at least 1)."""
    up = sha256(f"{seed} {table}".encode()).digest()[0] % 2 == 0
    return rows * factor if up else max(1, rows // factor)


def run(options: argparse.Namespace) -> tuple[list[Measurement], dict[str, str]]:
    """Runs all queries. Returns the runs of queries that never failed, and the errors of the others."""
    failures: dict[str, str] = {}
    with suite_bench(options, DOVETAIL_BARE) as (session, data, queries):
        found = {query.name: Measurement(query.name) for query in queries}
        counts = _false_counts(session, data, options)
        # round 0 warms up the JVM and is not counted
        for number in range(options.rounds + 1):
            for place, query in enumerate(queries):
                for way in next(latin_square(WAYS, place + number)):
                    if query.name in failures:
                        continue
                    _switch(session, way, counts)
                    try:
                        measured = profile(session.spark, query.text)
                    except Exception as failed:  # an error of Spark is a finding about this query and ends no run
                        failures[query.name] = f"{way.name}: {reason(failed)}"
                    else:
                        if number > 0:
                            found[query.name].runs[way.name].append(measured)
                say(f"round {number} of {options.rounds}, {place + 1}/{len(queries)} {query.name}")
    return [m for name, m in found.items() if name not in failures], failures


def _false_counts(session: Bench, data: Dataset, options: argparse.Namespace) -> dict[str, int]:
    counts = {table: session.spark.table(table).count() for table in data.tables}
    return {table: false_rows(table, rows, options.factor, options.seed) for table, rows in counts.items()}


def _switch(session: Bench, way: Way, counts: dict[str, int]) -> None:
    session.spark.conf.set(SETTING, str(way.run_time).lower())
    dovetail.rows.forget(session.spark)
    if way.false_counts:
        for table, rows in counts.items():
            dovetail.rows.tell(session.spark, rows, table=table)


def targets(measured: Sequence[Measurement], failures: dict[str, str]) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    ratio = _total(measured, WAYS[3]) / _total(measured, WAYS[0])
    wrong = [m.query for m in measured if m.differs]
    return [
        report.target(
            f"total time with false counts and run-time orders at most {MAX_RATIO} of that with true counts",
            ratio,
            ratio <= MAX_RATIO,
        ),
        report.target("answers that differ: none", ", ".join(wrong) or "none", not wrong),
        report.target("queries that fail: none", ", ".join(failures) or "none", not failures),
    ]


def _total(measured: Sequence[Measurement], way: Way) -> float:
    return sum(m.seconds(way) for m in measured)


def write_page(page: report.Page, measured: Sequence[Measurement], options: argparse.Namespace) -> None:
    """Fills the page."""
    page.text(
        f"{len(measured)} queries, nothing analyzed, {options.rounds} rounds in a Latin square after one that warms "
        f"up; medians. False counts: rows of each table times {options.factor} or divided by it (seed {options.seed})."
    )
    page.table(
        "All queries",
        [
            {
                "way": way.name,
                "seconds": _total(measured, way),
                "of the time with true counts": _total(measured, way) / _total(measured, WAYS[0]),
                "join rows": sum(m.join_rows(way) for m in measured),
                "queries with another order at run time": sum(
                    any(run.run_time_orders for run in m.runs[way.name]) for m in measured
                ),
            }
            for way in WAYS
        ],
    )
    page.table(
        "Queries, those that lose most with false counts first",
        [
            {"query": m.query, **{f"{way.name}, s": m.seconds(way) for way in WAYS}}
            for m in sorted(measured, key=lambda m: m.seconds(WAYS[0]) - m.seconds(WAYS[2]))
        ],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.false_statistics", description=head)
    add_options(parser)
    parser.add_argument("--factor", type=int, default=1000, help="by how much row counts are wrong (1000)")
    parser.add_argument(
        "--seed", type=int, default=1, help="decides which tables have too many rows, which too few (1)"
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs of each query in each way (1)")
    options = report.parse(parser, arguments)
    measured, failures = run(options)
    page = report.Page("false_statistics", f"False row counts, {options.suite}, scale {options.scale:g}", options.suite)
    goals = targets(measured, failures)
    page.targets(goals)
    write_page(page, measured, options)
    page.write(options, {"targets": goals, "failures": failures, "runs": [asdict(m) for m in measured]})
    wrong = bool(failures) or any(m.differs for m in measured)
    return 1 if wrong or (options.gate and not all(target["hit"] for target in goals)) else 0


if __name__ == "__main__":
    sys.exit(main())
