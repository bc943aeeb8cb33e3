"""Generated queries give the same rows with Dovetail as with plain Spark, and as with DuckDB.

    python -m dovetail_bench.fuzz --queries 20000

Joins of all kinds over small tables that are rich in NULLs and duplicates, under wrong statistics and many settings.
Exit code 1 if an answer differs, if a query fails that runs without Dovetail, or if too few join orders changed for the
run to mean anything. Everything comes from the seed; `--first N --queries 1` repeats query N. A run that is stopped
(Ctrl-C, SIGTERM) reports what it has checked so far, and fails.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from dovetail import _sql
from dovetail.demo.data import import_duckdb
from dovetail_bench import report
from dovetail_bench.oracle import connect
from dovetail_bench.progress import say
from dovetail_bench.random_queries import RandomQuery, duckdb_text
from dovetail_bench.random_tables import ROWS, SIZES, RandomTables, seeded
from dovetail_bench.rows import OTHER_ENGINE, SAME_ENGINE, Row, difference
from dovetail_bench.session import add_session_options, bench

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Queries that share tables, and queries that share settings.
PER_DATA_SET = 1000
PER_SETTINGS = 25

# Between two lines of progress.
PROGRESS = 250

SAME = "same"
DIFFERENT = "different"
FAILED = "failed"
NOT_SPARK = "not run by Spark"
NOT_DUCKDB = "not run by DuckDB"
SAME_UNOPTIMIZED = "same as DuckDB's without its optimizer"

# Of the queries, this share at least has to have another tree of joins with Dovetail.
LEAST_CHANGED = 0.3

# Of the queries, this share at most may be none that both engines run.
MOST_UNCOMPARED = 0.02

# Tiny queries would spend their time in the compiler and in empty tasks.
TINY = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

# With the CBO on and wrong statistics plain Spark takes an estimate of one row for a fact while a query runs, and drops
# a DISTINCT (SPARK-57956: 9,588 rows of one value in query 16,495). Both sessions do without the rule.
SPARK_FAULTS = {
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.OptimizeOneRowPlan",
}

# Of the session, before `--conf`. A hash table takes at least a page. Spark removes old broadcasts one after the other,
# more slowly than tiny queries make them, and the more are left the longer each takes: 11,000 after 1,500 queries.
MANY = ("spark.buffer.pageSize=1m", "spark.cleaner.referenceTracking.blocking=false")

# What joins can be ordered and executed by; the more usual, the more often.
SETTINGS = {
    "spark.sql.adaptive.enabled": ("true", "false", "false"),
    "spark.sql.shuffle.partitions": ("1", "1", "2"),
    "spark.sql.autoBroadcastJoinThreshold": ("10485760", "10485760", "-1"),
    "spark.sql.cbo.enabled": (*("false",) * 7, "true"),
    "spark.dovetail.cost.model": ("physical", "physical", "cardWeight"),
    "spark.dovetail.reorder.exactPairs": ("300000", "300000", "0"),
    "spark.dovetail.reorder.minGain": ("0",),
}

# In the text of a plan, from the top: the joins and the relations, which together are the tree of joins.
_TREE = re.compile(r"\bJoin (\w+)|\bRelation ([\w.]+)\[|\b(LocalRelation)\b")

# Of a query's text, by which the report tells kinds of queries apart.
FEATURES = {
    "LEFT, RIGHT or FULL JOIN": r"(LEFT|RIGHT|FULL) JOIN",
    "FULL JOIN": r"FULL JOIN",
    "SEMI or ANTI JOIN": r"(SEMI|ANTI) JOIN",
    "EXISTS, IN or their negations": r"EXISTS|IN \(SELECT",
    "CROSS JOIN": r"CROSS JOIN",
    "null-safe equality": r"<=>",
    "a derived table or a common table expression": r"(FROM|JOIN|,) \(SELECT|^WITH",
}


@dataclass(frozen=True)
class Checked:
    """One query.

    Attributes:
        number: By which it is made again.
        sql: Its text.
        settings: It ran under.
        changed: Whether Dovetail changed the tree of joins.
        rows: Of the answer.
        against_spark: Verdict against plain Spark.
        against_duckdb: Verdict against DuckDB.
        detail: What differs, or the error.
    """

    number: int
    sql: str
    settings: dict[str, str]
    changed: bool
    rows: int
    against_spark: str
    against_duckdb: str
    detail: str = ""


class SecondOpinion:
    """A DuckDB of one thread's own. Some queries kill it; it starts anew, and other threads never know."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._duckdb = _one_thread()
        self._database = ""

    def use(self, database: str) -> None:
        """The tables of a data set, from their files."""
        self._duckdb.execute(f"CREATE SCHEMA IF NOT EXISTS {database}")
        self._duckdb.execute(f"USE {database}")
        for table in SIZES:
            rows = (self._directory / database / table / ROWS).as_posix()
            self._duckdb.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM '{rows}'")
        self._database = database

    def rows(self, sql: str) -> list[Row]:
        """The answer to a query, or DuckDB's error."""
        try:
            return [tuple(row) for row in self._duckdb.execute(sql).fetchall()]
        except (import_duckdb().FatalException, import_duckdb().InternalException):
            self._duckdb = _one_thread()
            self.use(self._database)
            raise

    def rows_unoptimized(self, sql: str) -> list[Row]:
        """The same, the query executed as it is written: DuckDB's optimizer has errors of its own."""
        self._duckdb.execute("PRAGMA disable_optimizer")
        try:
            return self.rows(sql)
        finally:
            self._duckdb.execute("PRAGMA enable_optimizer")


def _one_thread() -> DuckDBPyConnection:
    duckdb = connect()
    duckdb.execute("SET threads = 1")
    return duckdb


class Runner:
    """Runs queries on a session without Dovetail, one with it and DuckDB; each thread has its own."""

    def __init__(self, spark: SparkSession, directory: Path, seed: int) -> None:
        self._seed = seed
        self._plain, self._ours = spark.newSession(), spark.newSession()
        self._duckdb = SecondOpinion(directory)
        for session, on in ((self._plain, "false"), (self._ours, "true")):
            _configure(session, {**TINY, **SPARK_FAULTS, _sql.ENABLED_KEY: on})

    def run(self, numbers: Sequence[int]) -> Iterator[Checked]:
        """Checks queries of one data set and one set of settings."""
        database = RandomTables(numbers[0] // PER_DATA_SET, self._seed).database
        chance = seeded(f"settings {self._seed} {numbers[0] // PER_SETTINGS}")
        settings = {key: chance.choice(values) for key, values in SETTINGS.items()}
        for session in (self._plain, self._ours):
            _configure(session, {**settings, "spark.sql.cbo.joinReorder.enabled": settings["spark.sql.cbo.enabled"]})
            session.sql(f"USE {database}")
        self._duckdb.use(database)
        for number in numbers:
            yield self._check(number, settings)

    def _check(self, number: int, settings: dict[str, str]) -> Checked:
        sql = RandomQuery(seeded(f"query {self._seed} {number}")).text()
        try:
            expected, before = _answer(self._plain, sql)
        except Exception as failed:
            return Checked(number, sql, settings, False, 0, NOT_SPARK, NOT_SPARK, _first_line(failed))
        try:
            found, after = _answer(self._ours, sql)
        except Exception as failed:
            return Checked(number, sql, settings, False, 0, FAILED, FAILED, _first_line(failed))
        differs = difference(expected, found, SAME_ENGINE)
        other = duckdb_text(sql)
        try:
            differs_from_duckdb = difference(self._duckdb.rows(other), found, OTHER_ENGINE)
            against_duckdb = DIFFERENT if differs_from_duckdb else SAME
            if differs_from_duckdb and not difference(self._duckdb.rows_unoptimized(other), found, OTHER_ENGINE):
                against_duckdb = SAME_UNOPTIMIZED
        except Exception as failed:
            differs_from_duckdb, against_duckdb = _first_line(failed), NOT_DUCKDB
        return Checked(
            number,
            sql,
            settings,
            before != after,
            len(found),
            DIFFERENT if differs else SAME,
            against_duckdb,
            differs or differs_from_duckdb or "",
        )


def _configure(session: SparkSession, settings: dict[str, str]) -> None:
    for key, value in settings.items():
        session.conf.set(key, value)


def _answer(session: SparkSession, sql: str) -> tuple[list[Row], list[tuple[str, ...]]]:
    """The rows, and the tree of joins of the optimized plan: joins and relations from the top, left before right."""
    frame = session.sql(sql)
    tree = _TREE.findall(frame._jdf.queryExecution().optimizedPlan().toString())
    return [tuple(row) for row in frame.collect()], tree


def run(options: argparse.Namespace) -> tuple[list[Checked], float]:
    """Checks all queries; returns them and the seconds it took without making the tables."""
    last = options.first + options.queries
    numbers = range(options.first, last)
    batches = [[n for n in numbers if n // PER_SETTINGS == b] for b in _covering(numbers, PER_SETTINGS)]
    with (
        bench(options) as session,
        tempfile.TemporaryDirectory(prefix="dovetail-fuzz-") as directory,
        import_duckdb().connect() as duckdb,
    ):
        for data_set in _covering(numbers, PER_DATA_SET):
            RandomTables(data_set, options.seed).create(session.spark, duckdb, Path(directory))
        say("tables made")
        started = time.monotonic()
        checked = _in_threads(session.spark, Path(directory), options, batches)
        return checked, time.monotonic() - started


def _in_threads(
    spark: SparkSession, directory: Path, options: argparse.Namespace, batches: Sequence[Sequence[int]]
) -> list[Checked]:
    own = threading.local()
    done: list[Checked] = []

    def start() -> None:
        own.runner = Runner(spark, directory, options.seed)

    def batch(numbers: Sequence[int]) -> list[Checked]:
        return list(own.runner.run(numbers))

    with ThreadPoolExecutor(options.threads, initializer=start) as pool:
        try:
            for found in pool.map(batch, batches):
                done += found
                for query in filter(_wrong, found):
                    verdicts = f"{query.against_spark}, {query.against_duckdb}"
                    say(f"query {query.number}: {verdicts}: {query.detail}\n{query.sql}")
                if len(done) % PROGRESS == 0:
                    say(f"{len(done)} of {options.queries}: {sum(q.changed for q in done)} changed")
        except KeyboardInterrupt:
            say(f"stopped after {len(done)} queries; what they showed is reported")
    return done


def _covering(numbers: range, size: int) -> range:
    """The numbers of the parts of this size that hold these numbers."""
    return range(numbers[0] // size, numbers[-1] // size + 1)


def _wrong(query: Checked) -> bool:
    return query.against_spark in (DIFFERENT, FAILED) or query.against_duckdb == DIFFERENT


def _uncompared(query: Checked) -> bool:
    return NOT_SPARK in query.against_spark or query.against_duckdb == NOT_DUCKDB


def targets(checked: Sequence[Checked], queries: int) -> list[dict[str, Any]]:
    """What a run of so many queries has to show."""
    wrong = sum(map(_wrong, checked))
    changed = sum(q.changed for q in checked) / max(len(checked), 1)
    uncompared = sum(map(_uncompared, checked)) / max(len(checked), 1)
    return [
        report.target(f"all {queries:,} queries", len(checked), len(checked) == queries),
        report.target("answers that differ, queries that fail with Dovetail alone: none", wrong, wrong == 0),
        report.target(f"at least {LEAST_CHANGED:.0%} with another tree of joins", changed, changed >= LEAST_CHANGED),
        report.target(
            f"at most {MOST_UNCOMPARED:.0%} that one engine does not run", uncompared, uncompared <= MOST_UNCOMPARED
        ),
    ]


def write_page(page: report.Page, checked: Sequence[Checked], queries: int, seconds: float) -> None:
    """Fills the page."""
    page.text(
        f"{len(checked):,} queries, {len(checked) / seconds:.1f} per second, each by Spark, by Dovetail and by "
        "DuckDB. “Changed” are those whose optimized plan has another tree of joins with Dovetail."
    )
    page.targets(targets(checked, queries))
    page.table("Kinds of queries", [_kind("all", ".", checked), *(_kind(n, p, checked) for n, p in FEATURES.items())])
    verdicts = Counter((q.against_spark, q.against_duckdb) for q in checked)
    page.table(
        "Verdicts",
        [{"against Spark": s, "against DuckDB": d, "queries": count} for (s, d), count in sorted(verdicts.items())],
    )
    page.table(
        "DuckDB differs from itself",
        [
            {"query": q.number, "sql": q.sql, "detail": q.detail}
            for q in checked
            if q.against_duckdb == SAME_UNOPTIMIZED
        ],
    )
    page.table("Wrong", [{"query": q.number, "sql": q.sql, "detail": q.detail} for q in checked if _wrong(q)])
    reasons = Counter(re.sub(r"\br\d+\b|\d+", "…", q.detail)[:120] for q in checked if _uncompared(q))
    page.table("Not compared", [{"error": e, "queries": n} for e, n in reasons.most_common()])


def _kind(name: str, pattern: str, checked: Sequence[Checked]) -> dict[str, Any]:
    of_it = [q for q in checked if re.search(pattern, q.sql)]
    return {
        "with": name,
        "queries": len(of_it),
        "changed": sum(q.changed for q in of_it),
        "answers that are not empty": sum(q.rows > 0 for q in of_it),
    }


def _first_line(failed: Exception) -> str:
    return f"{type(failed).__name__}: {(str(failed).strip() or '?').splitlines()[0]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.fuzz", description=lines[0])
    parser.add_argument("--queries", type=int, default=20_000, help="how many (20000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (0)")
    parser.add_argument("--seed", type=int, default=2026, help="of tables, settings and queries (2026)")
    parser.add_argument("--threads", type=int, default=2, help="queries at a time (2)")
    report.add_results_option(parser)
    add_session_options(parser)
    options = parser.parse_args(arguments)
    options.conf = [*MANY, *options.conf]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    checked, seconds = run(options)
    from_there = f"-from{options.first}" if options.first else ""
    page = report.Page("fuzz", "Generated queries", f"spark{report.machine()['pyspark']}{from_there}")
    write_page(page, checked, options.queries, seconds)
    found = [asdict(q) for q in checked if _wrong(q) or _uncompared(q)]
    results = targets(checked, options.queries)
    page.write(options, {"targets": results, "seconds": seconds, "not the same": found})
    return 0 if all(target["hit"] for target in results) else 1


if __name__ == "__main__":
    sys.exit(main())
