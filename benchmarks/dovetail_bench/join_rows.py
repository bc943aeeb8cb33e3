"""Rows out of joins over TPC-DS, query by query: plain Spark, Spark's CBO, Dovetail with statistics of three kinds.

Dovetail plans with tables that Spark analyzed, with tables of which only the files are known, and with tables that its
own pass has read.

    python -m dovetail_bench.join_rows

All modes run each query in one session. Their order rotates from query to query, so that no mode always pays for cold
caches. The report names every regression. Exit code 1 if a query fails in one of Dovetail's modes, or with --gate if a
target is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.demo.data import Dataset, dataset
from dovetail_bench import report
from dovetail_bench.join_rows_report import Results, targets, write_page
from dovetail_bench.metrics import Profile, profile, reason
from dovetail_bench.progress import say
from dovetail_bench.queries import FOLDERS, Query, load
from dovetail_bench.rounds import latin_square
from dovetail_bench.session import (
    DOVETAIL,
    DOVETAIL_BARE,
    DOVETAIL_ONE_PASS,
    SPARK,
    SPARK_CBO,
    Bench,
    Mode,
    add_session_options,
    bench,
)

MODES = (SPARK, SPARK_CBO, DOVETAIL, DOVETAIL_BARE, DOVETAIL_ONE_PASS)


def run(options: argparse.Namespace, modes: tuple[Mode, ...]) -> Results:
    """Measures the chosen queries of a suite in these modes."""
    queries = load(options.suite, options.queries)[:: options.every]
    data = dataset(FOLDERS[options.suite][1], options.scale, options.data_dir)
    return measure(options, queries, data, modes, options.repeat)


def measure(
    options: argparse.Namespace, queries: Sequence[Query], data: Dataset, modes: tuple[Mode, ...], repeat: int = 1
) -> Results:
    """Measures queries on a data set. Ctrl-C stops it; it then returns what was measured so far.

    Args:
        options: Options of the session.
        queries: Queries to run.
        data: Data set that the queries read.
        modes: All modes, plain Spark first.
        repeat: Runs of each query and mode.
    """
    measured: dict[str, dict[str, list[Profile]]] = {}
    failures: dict[str, dict[str, str]] = {}
    with bench(options) as session:
        session.register(data)
        if any(mode.collected for mode in modes):
            session.collect(data)
        try:
            for number, query in enumerate(queries):
                measured[query.name] = {}
                for mode in next(latin_square(modes, number)):
                    session.use(mode, data)
                    try:
                        runs = [profile(session.spark, query.text) for _ in range(repeat)]
                    except Exception as failed:  # an error of Spark is a finding about this query and ends no run
                        failures.setdefault(query.name, {})[mode.name] = reason(failed)
                    else:
                        measured[query.name][mode.name] = runs
                found = _line(query, modes, measured[query.name], failures.get(query.name, {}))
                say(f"{number + 1}/{len(queries)} {found}")
        except KeyboardInterrupt:
            say(f"stopped in the {len(measured)}th of {len(queries)} queries; what was measured is reported")
        return Results(modes, measured, failures, _analyze_seconds(session), sum(session.collect_seconds.values()))


def _line(
    query: Query, modes: Sequence[Mode], measured: Mapping[str, Sequence[Profile]], failures: Mapping[str, str]
) -> str:
    runs = [(mode.name, measured[mode.name][-1]) for mode in modes if mode.name in measured]
    words = [f"{mode} {run.join_rows:,} rows {run.seconds:.1f} s" for mode, run in runs]
    return f"{query.name}: " + ", ".join(words + [f"{mode} FAILED" for mode in failures])


def _analyze_seconds(session: Bench) -> float:
    return sum(session.analyze_seconds.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.join_rows", description=lines[0])
    add_options(parser)
    parser.add_argument("--repeat", type=int, default=1, help="runs of each query and mode; times are medians (1)")
    options = report.parse(parser, arguments)
    results = run(options, MODES)
    goals = targets(results, options.suite, options.scale)
    written = page(options.suite, options.scale)
    write_page(written, results, goals)
    return _finish(written, options, results, goals)


def page(suite: str, scale: float) -> report.Page:
    """The empty page of a suite at a scale."""
    return report.Page("join_rows", f"Join rows, {suite}, scale {scale:g}", suite)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that run a suite in modes."""
    parser.add_argument("--suite", choices=FOLDERS, default="tpcds", help="query suite (tpcds)")
    parser.add_argument("--queries", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of them (1)")
    parser.add_argument("--gate", action="store_true", help="exit code 1 if a target is missed")
    report.add_options(parser)
    add_session_options(parser)


def _finish(
    page: report.Page, options: argparse.Namespace, results: Results, targets: Sequence[Mapping[str, Any]]
) -> int:
    """Writes the page and all runs; returns the exit code."""
    times = {"analyze seconds": results.analyze_seconds, "collect seconds": results.collect_seconds}
    page.write(options, {"targets": targets, "failures": results.failures, "runs": results.as_dict(), **times})
    failed = any(set(failures) - {SPARK.name, SPARK_CBO.name} for failures in results.failures.values())
    missed = options.gate and not all(target["hit"] for target in targets)
    return 1 if failed or missed else 0


if __name__ == "__main__":
    sys.exit(main())
