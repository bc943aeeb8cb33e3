"""Checks that generated queries return the same rows with Dovetail as with plain Spark, and as with DuckDB.

    python -m dovetail_bench.fuzz --queries 20000
    python -m dovetail_bench.fuzz --queries 50000 --dialect spark

Queries have joins of all kinds over small tables that are rich in NULLs and duplicates. They run under wrong statistics
and many settings. There are three dialects. `shared`: Spark and DuckDB read the queries alike. `groupings`: they do,
too, and the queries group what they join, most of them also below the joins. `spark`: Spark's own dialect, with nested
types and expressions that fail on some rows. A query of this dialect that plain Spark does not answer is only counted;
Dovetail may answer it or not. A query of this dialect that has the same physical plan with Dovetail and without does
not run, unless adaptive execution may change the plan.

Whether Spark computes an input that fails before another input turns out to be empty can be a race. Plain Spark
therefore runs a query again that failed with Dovetail, and once more without the rule by which adaptive execution ends
a query early.

A process runs at most 10,000 queries, so that what the JVM keeps of each query does not add up.

Exit code 1 if an answer differs, if a query fails with Dovetail alone, or if too few queries were compared or too few
join orders changed for the run to mean anything. Everything follows from the seed; `--first N --queries 1` repeats
query N. A run that is stopped (Ctrl-C, SIGTERM) reports what it has checked so far, and fails.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dovetail.demo.data import import_duckdb
from dovetail_bench import report, tiny
from dovetail_bench.fuzz_dialects import DIALECTS, Dialect
from dovetail_bench.fuzz_runner import (
    FAILED,
    MOST_RESULT,
    PER_DATA_SET,
    PER_SETTINGS,
    RESULT_LIMIT,
    SAME_UNOPTIMIZED,
    CheckResult,
    Runner,
    answers_target,
)
from dovetail_bench.progress import say
from dovetail_bench.session import add_session_options, bench, without_errors

# Queries between two lines of progress.
PROGRESS = 250

# Queries of one process: some half an hour, of which it takes some minutes to start and to compile the hot code.
PER_PROCESS = 10_000

# Smallest share of queries whose tree of joins must be different with Dovetail.
LEAST_CHANGED = 0.3


def run(options: argparse.Namespace) -> tuple[list[CheckResult], float]:
    """Checks all queries. Returns them, and the seconds that this took without making the tables."""
    last = options.first + options.queries
    pieces = [range(n, min(n + PER_PROCESS, last)) for n in range(options.first, last, PER_PROCESS)]
    checked: list[CheckResult] = []
    seconds = 0.0
    context = multiprocessing.get_context("spawn")
    for piece in pieces:
        with ProcessPoolExecutor(1, context, initializer=_start) as process:
            future = process.submit(_piece, options, piece)
            try:
                found, took = future.result()
            except KeyboardInterrupt:
                for child in multiprocessing.active_children():
                    child.terminate()
                found, took = future.result()
                return checked + found, seconds + took
        checked += found
        seconds += took
        if len(pieces) > 1:
            say(f"all {len(checked)} of {options.queries}: {sum(q.wrong for q in checked)} wrong")
    return checked, seconds


def _start() -> None:
    """Prepares a process of queries: only its parent stops it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _piece(options: argparse.Namespace, numbers: range) -> tuple[list[CheckResult], float]:
    """Checks these queries in this process."""
    batches = [[n for n in numbers if n // PER_SETTINGS == b] for b in _covering(numbers, PER_SETTINGS)]
    with (
        bench(options) as session,
        tempfile.TemporaryDirectory(prefix="dovetail-fuzz-") as directory,
        import_duckdb().connect() as duckdb,
    ):
        tiny.without_defaults(session.spark)
        if not DIALECTS[options.dialect].duckdb:
            without_errors(session.spark)
        for data_set in _covering(numbers, PER_DATA_SET):
            DIALECTS[options.dialect].tables(data_set, options.seed).create(session.spark, duckdb, Path(directory))
        say(f"tables made for queries {numbers[0]} to {numbers[-1]}")
        started = time.monotonic()
        checked = _in_threads(session.spark, Path(directory), options, batches)
        return checked, time.monotonic() - started


def _in_threads(
    spark: SparkSession, directory: Path, options: argparse.Namespace, batches: Sequence[Sequence[int]]
) -> list[CheckResult]:
    own = threading.local()
    done: list[CheckResult] = []

    def start() -> None:
        own.runner = Runner(spark, directory, DIALECTS[options.dialect], options.seed)

    def batch(numbers: Sequence[int]) -> list[CheckResult]:
        return list(own.runner.run(numbers))

    with ThreadPoolExecutor(options.threads, initializer=start) as pool:
        try:
            for found in pool.map(batch, batches):
                done += found
                for query in (q for q in found if q.wrong):
                    verdicts = f"{query.against_spark}, {query.against_duckdb}"
                    say(f"query {query.number}: {verdicts}: {query.detail}\n{query.sql}")
                if len(done) % PROGRESS == 0:
                    say(f"{len(done)} of {sum(map(len, batches))}: {sum(q.changed for q in done)} changed")
        except KeyboardInterrupt:
            say(f"stopped after {len(done)} queries; what they showed is reported")
    return done


def _covering(numbers: range, size: int) -> range:
    """Numbers of the parts of this size that contain these numbers."""
    return range(numbers[0] // size, numbers[-1] // size + 1)


def targets(checked: Sequence[CheckResult], queries: int, dialect: Dialect) -> list[dict[str, Any]]:
    """Targets of a run of this many queries, and whether each is hit."""
    most = dialect.most_uncompared
    changed = sum(q.changed for q in checked) / max(len(checked), 1)
    uncompared = sum(q.uncompared for q in checked) / max(len(checked), 1)
    return [
        report.target(f"all {queries:,} queries", len(checked), len(checked) == queries),
        answers_target([q for q in checked if q.wrong], dialect),
        report.target(f"at least {LEAST_CHANGED:.0%} with another tree of joins", changed, changed >= LEAST_CHANGED),
        report.target(f"at most {most:.0%} that one engine does not run", uncompared, uncompared <= most),
    ]


def write_page(
    page: report.Page, checked: Sequence[CheckResult], queries: int, seconds: float, dialect: Dialect
) -> None:
    """Fills the page."""
    page.text(
        f"{len(checked):,} queries, {len(checked) / seconds:.1f} per second, each by Spark and by Dovetail"
        f"{' and by DuckDB' if dialect.duckdb else ''}. “Changed” are those "
        "whose optimized plan has another tree of joins with Dovetail."
    )
    page.targets(targets(checked, queries, dialect))
    page.table("Kinds of queries", kinds(checked, dialect))
    page.table("Verdicts", verdicts(checked))
    page.table(
        "DuckDB differs from itself",
        [
            {"query": q.number, "sql": q.sql, "detail": q.detail}
            for q in checked
            if q.against_duckdb == SAME_UNOPTIMIZED
        ],
    )
    page.table(
        "Answers that differ, queries that fail with Dovetail alone",
        [{"query": q.number, "sql": q.sql, "detail": q.detail} for q in checked if q.wrong],
    )
    page.table("Failed with Dovetail alone", _reasons(q for q in checked if q.against_spark == FAILED))
    page.table("Not compared", _reasons(q for q in checked if q.uncompared))


def kinds(checked: Sequence[CheckResult], dialect: Dialect) -> list[dict[str, Any]]:
    """Number of all queries and of those with each feature of the dialect."""
    patterns = {"all": ".", **dialect.features}
    return [_kind(name, pattern, checked) for name, pattern in patterns.items()]


def verdicts(checked: Sequence[CheckResult]) -> list[dict[str, Any]]:
    """Number of queries with each pair of verdicts."""
    counts = Counter((q.against_spark, q.against_duckdb) for q in checked)
    return [{"against Spark": s, "against DuckDB": d, "queries": count} for (s, d), count in sorted(counts.items())]


def _reasons(checked: Iterable[CheckResult]) -> list[dict[str, Any]]:
    """Counts errors by their condition or, if they have none, by their beginning."""
    errors = (re.search(r"\[[A-Z_.]+\]", q.detail) or re.match(r".{0,120}", q.detail) for q in checked)
    reasons = Counter(re.sub(r"\br\d+\b|\d+", "…", error[0]) for error in errors if error is not None)
    return [{"error": error, "queries": count} for error, count in reasons.most_common()]


def _kind(name: str, pattern: str, checked: Sequence[CheckResult]) -> dict[str, Any]:
    of_it = [q for q in checked if re.search(pattern, q.sql)]
    return {
        "with": name,
        "queries": len(of_it),
        "changed": sum(q.changed for q in of_it),
        "answers that are not empty": sum(q.rows > 0 for q in of_it),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.fuzz", description=lines[0])
    parser.add_argument("--dialect", choices=DIALECTS, default="shared", help="of the queries (shared)")
    parser.add_argument("--queries", type=int, default=20_000, help="how many (20000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (0)")
    parser.add_argument("--seed", type=int, default=2026, help="of tables, settings and queries (2026)")
    parser.add_argument("--threads", type=int, default=3, help="queries at a time (3)")
    report.add_results_option(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    options.conf = [*tiny.session(options.queries), f"{RESULT_LIMIT}={MOST_RESULT}", *options.conf]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    checked, seconds = run(options)
    from_there = f"-from{options.first}" if options.first else ""
    dialect = DIALECTS[options.dialect]
    own = "" if options.dialect == "shared" else f"{options.dialect}-dialect-"
    page = report.Page("fuzz", "Generated queries", f"{own}spark{report.machine()['pyspark']}{from_there}")
    write_page(page, checked, options.queries, seconds, dialect)
    # Many queries of Spark's dialect fail by design: those are counted, not kept.
    found = [asdict(q) for q in checked if q.wrong or (dialect.duckdb and q.uncompared)]
    results = targets(checked, options.queries, dialect)
    tables = {"kinds": kinds(checked, dialect), "verdicts": verdicts(checked)}
    page.write(options, {"targets": results, "seconds": seconds, **tables, "not the same": found})
    return 0 if all(target["hit"] for target in results) else 1


if __name__ == "__main__":
    sys.exit(main())
