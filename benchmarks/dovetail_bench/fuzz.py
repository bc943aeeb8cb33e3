"""Generated queries give the same rows with Dovetail as with plain Spark, and as with DuckDB.

    python -m dovetail_bench.fuzz --queries 20000
    python -m dovetail_bench.fuzz --queries 50000 --dialect spark

Joins of all kinds over small tables that are rich in NULLs and duplicates, under wrong statistics and many settings.
The first dialect is what Spark and DuckDB read alike. The second is Spark's own, with nested types and expressions that
fail on some rows: what plain Spark does not answer is counted, and Dovetail may answer it or not.

Exit code 1 if an answer differs, if a query fails that runs without Dovetail, or if too few join orders changed for the
run to mean anything. Everything comes from the seed; `--first N --queries 1` repeats query N. A run that is stopped
(Ctrl-C, SIGTERM) reports what it has checked so far, and fails.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dovetail import _sql
from dovetail.demo.data import import_duckdb
from dovetail_bench import report
from dovetail_bench.progress import say
from dovetail_bench.random_queries import RandomQuery, duckdb_text
from dovetail_bench.random_tables import RandomTables, seeded
from dovetail_bench.rows import OTHER_ENGINE, SAME_ENGINE, Row, difference
from dovetail_bench.second_opinion import SecondOpinion
from dovetail_bench.session import add_session_options, bench, without_errors
from dovetail_bench.spark_queries import SparkQuery
from dovetail_bench.spark_tables import SparkTables

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
NOT_ASKED = "not asked"
ANSWERED = "answered by Dovetail alone"
SAME_UNOPTIMIZED = "same as DuckDB's without its optimizer"

# Of the queries, this share at least has to have another tree of joins with Dovetail.
LEAST_CHANGED = 0.3

# Of the queries, this share at most may be none that both engines run.
MOST_UNCOMPARED = 0.02

# The same in Spark's dialect, where the expressions are made to fail.
MOST_FAILED = 0.5

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

# Of Spark's dialect, beside them.
SPARK_SETTINGS = {
    **SETTINGS,
    "spark.sql.ansi.enabled": ("true", "true", "true", "false"),
    "spark.sql.crossJoin.enabled": ("true", "true", "false"),
    "spark.sql.adaptive.enabled": ("true", "false", "false", "false"),
    "spark.sql.shuffle.partitions": ("1", "1", "1", "2"),
    "spark.sql.join.preferSortMergeJoin": ("true", "true", "false"),
    "spark.sql.bucketing.coalesceBucketsInJoin.enabled": ("false", "false", "true"),
}

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

# Of Spark's dialect, beside them.
SPARK_FEATURES = {
    **FEATURES,
    "expressions that may fail": r"CAST|div|%|\[|element_at|\.m |-r|abs|date|elt|size|RLIKE|assert|regexp",
    "a struct as key": r"\.st = |struct\(|, r\d+\.v\) (NOT )?IN",
    "an array as key": r"\.ar = ",
    "a collation as key": r"\.c = r",
    "LATERAL": r"LATERAL",
    "USING": r"USING",
    "NATURAL": r"NATURAL",
    "nested NOT IN": r"NOT IN \(SELECT.* (NOT )?IN \(SELECT",
    "set operations": r"UNION|INTERSECT|EXCEPT",
    "windows": r"OVER",
    "hints": r"/\*\+",
}


@dataclass(frozen=True)
class Dialect:
    """Queries of one kind.

    Attributes:
        tables: Makes a data set from its number and the seed.
        text: Makes a query from its chances.
        settings: Of which each batch draws.
        features: Of the report.
        duckdb: Whether DuckDB reads the texts.
        most_uncompared: Share of the queries that may be none that can be compared.
    """

    tables: Callable[[int, int], RandomTables | SparkTables]
    text: Callable[[random.Random], str]
    settings: Mapping[str, Sequence[str]]
    features: Mapping[str, str]
    duckdb: bool
    most_uncompared: float


DIALECTS = {
    "shared": Dialect(RandomTables, lambda c: RandomQuery(c).text(), SETTINGS, FEATURES, True, MOST_UNCOMPARED),
    "spark": Dialect(SparkTables, lambda c: SparkQuery(c).text(), SPARK_SETTINGS, SPARK_FEATURES, False, MOST_FAILED),
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


class Runner:
    """Runs queries on a session without Dovetail, one with it and DuckDB; each thread has its own."""

    def __init__(self, spark: SparkSession, directory: Path, dialect: Dialect, seed: int) -> None:
        self._dialect, self._seed = dialect, seed
        self._plain, self._ours = spark.newSession(), spark.newSession()
        self._duckdb = SecondOpinion(directory) if dialect.duckdb else None
        for session, on in ((self._plain, "false"), (self._ours, "true")):
            _configure(session, {**TINY, **SPARK_FAULTS, _sql.ENABLED_KEY: on})

    def run(self, numbers: Sequence[int]) -> Iterator[Checked]:
        """Checks queries of one data set and one set of settings."""
        database = self._dialect.tables(numbers[0] // PER_DATA_SET, self._seed).database
        chance = seeded(f"settings {self._seed} {numbers[0] // PER_SETTINGS}")
        settings = {key: chance.choice(values) for key, values in self._dialect.settings.items()}
        for session in (self._plain, self._ours):
            _configure(session, {**settings, "spark.sql.cbo.joinReorder.enabled": settings["spark.sql.cbo.enabled"]})
            session.sql(f"USE {database}")
        if self._duckdb is not None:
            self._duckdb.use(database)
        for number in numbers:
            yield self._check(number, settings)

    def _check(self, number: int, settings: dict[str, str]) -> Checked:
        sql = self._dialect.text(seeded(f"query {self._seed} {number}"))
        try:
            expected, before = _answer(self._plain, sql)
        except Exception as failed:
            against = NOT_SPARK if self._dialect.duckdb or not self._answers(sql) else ANSWERED
            return Checked(number, sql, settings, False, 0, against, NOT_SPARK, _first_line(failed))
        try:
            found, after = _answer(self._ours, sql)
        except Exception as failed:
            return Checked(number, sql, settings, False, 0, FAILED, FAILED, _first_line(failed))
        differs = difference(expected, found, SAME_ENGINE)
        against_spark = DIFFERENT if differs else SAME
        against_duckdb, differs_from_duckdb = self._second_opinion(sql, found)
        detail = differs or differs_from_duckdb
        return Checked(number, sql, settings, before != after, len(found), against_spark, against_duckdb, detail)

    def _answers(self, sql: str) -> bool:
        """Whether Dovetail answers what plain Spark does not; nothing may hang or end the session."""
        try:
            _answer(self._ours, sql)
        except Exception:
            return False
        return True

    def _second_opinion(self, sql: str, found: list[Row]) -> tuple[str, str]:
        """DuckDB's verdict, and its reason."""
        if self._duckdb is None:
            return NOT_ASKED, ""
        other = duckdb_text(sql)
        try:
            differs = difference(self._duckdb.rows(other), found, OTHER_ENGINE)
            if differs and not difference(self._duckdb.rows_unoptimized(other), found, OTHER_ENGINE):
                return SAME_UNOPTIMIZED, differs
            return (DIFFERENT, differs) if differs else (SAME, "")
        except Exception as failed:
            return NOT_DUCKDB, _first_line(failed)


def _configure(session: SparkSession, settings: dict[str, str]) -> None:
    for key, value in settings.items():
        session.conf.set(key, value)


def _answer(session: SparkSession, sql: str) -> tuple[list[Row], list[tuple[str, ...]]]:
    """The rows, and the tree of joins of the optimized plan: joins and relations from the top, left before right."""
    frame = session.sql(sql)
    tree = _TREE.findall(frame._jdf.queryExecution().optimizedPlan().toString())
    return [tuple(map(_hashable, row)) for row in frame.collect()], tree


def _hashable(value: Any) -> Any:
    """Arrays, structs and maps as values that can be compared as sets."""
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return tuple(sorted(value.items(), key=str)) if isinstance(value, dict) else value


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
        if not DIALECTS[options.dialect].duckdb:
            without_errors(session.spark)
        for data_set in _covering(numbers, PER_DATA_SET):
            DIALECTS[options.dialect].tables(data_set, options.seed).create(session.spark, duckdb, Path(directory))
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
        own.runner = Runner(spark, directory, DIALECTS[options.dialect], options.seed)

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
    return query.against_spark in (NOT_SPARK, ANSWERED) or query.against_duckdb == NOT_DUCKDB


def targets(checked: Sequence[Checked], queries: int, dialect: Dialect) -> list[dict[str, Any]]:
    """What a run of so many queries has to show."""
    most = dialect.most_uncompared
    wrong = sum(map(_wrong, checked))
    changed = sum(q.changed for q in checked) / max(len(checked), 1)
    uncompared = sum(map(_uncompared, checked)) / max(len(checked), 1)
    return [
        report.target(f"all {queries:,} queries", len(checked), len(checked) == queries),
        report.target("answers that differ, queries that fail with Dovetail alone: none", wrong, wrong == 0),
        report.target(f"at least {LEAST_CHANGED:.0%} with another tree of joins", changed, changed >= LEAST_CHANGED),
        report.target(f"at most {most:.0%} that one engine does not run", uncompared, uncompared <= most),
    ]


def write_page(page: report.Page, checked: Sequence[Checked], queries: int, seconds: float, dialect: Dialect) -> None:
    """Fills the page."""
    page.text(
        f"{len(checked):,} queries, {len(checked) / seconds:.1f} per second, each by Spark and by Dovetail"
        f"{' and by DuckDB' if dialect.duckdb else ''}. “Changed” are those "
        "whose optimized plan has another tree of joins with Dovetail."
    )
    page.targets(targets(checked, queries, dialect))
    kinds = {"all": ".", **dialect.features}
    page.table("Kinds of queries", [_kind(name, pattern, checked) for name, pattern in kinds.items()])
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
    page.table("Failed with Dovetail alone", _reasons(q for q in checked if q.against_spark == FAILED))
    page.table("Not compared", _reasons(q for q in checked if _uncompared(q)))


def _reasons(checked: Iterable[Checked]) -> list[dict[str, Any]]:
    """Errors by how often they come: by their condition, or else by their beginning."""
    errors = (re.search(r"\[[A-Z_.]+\]", q.detail) or re.match(r".{0,120}", q.detail) for q in checked)
    reasons = Counter(re.sub(r"\br\d+\b|\d+", "…", error[0]) for error in errors if error is not None)
    return [{"error": error, "queries": count} for error, count in reasons.most_common()]


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
    parser.add_argument("--dialect", choices=DIALECTS, default="shared", help="of the queries (shared)")
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
    dialect = DIALECTS[options.dialect]
    own = "" if dialect.duckdb else f"{options.dialect}-dialect-"
    page = report.Page("fuzz", "Generated queries", f"{own}spark{report.machine()['pyspark']}{from_there}")
    write_page(page, checked, options.queries, seconds, dialect)
    # Of Spark's dialect many fail as they are meant to: those are counted, not kept.
    found = [asdict(q) for q in checked if _wrong(q) or (dialect.duckdb and _uncompared(q))]
    results = targets(checked, options.queries, dialect)
    page.write(options, {"targets": results, "seconds": seconds, "not the same": found})
    return 0 if all(target["hit"] for target in results) else 1


if __name__ == "__main__":
    sys.exit(main())
