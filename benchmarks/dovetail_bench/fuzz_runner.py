"""Runs a query of `fuzz` on plain Spark, on Dovetail and, if DuckDB reads its dialect, on DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dovetail import _sql
from dovetail_bench import executed_plan, report, tiny
from dovetail_bench.fuzz_dialects import Dialect
from dovetail_bench.random_queries import duckdb_text
from dovetail_bench.random_tables import seeded
from dovetail_bench.rows import OTHER_ENGINE, SAME_ENGINE, Row, difference
from dovetail_bench.second_opinion import SecondOpinion
from dovetail_bench.session import HISTORY, frame_of

# Number of queries that share tables, and number of queries that share settings.
PER_DATA_SET = 1000
PER_SETTINGS = 25

SAME = "same"
SAME_PLAN = "same plan, not run"
DIFFERENT = "different"
FAILED = "failed"
NOT_SPARK = "not run by Spark"
NOT_DUCKDB = "not run by DuckDB"
NOT_ASKED = "not asked"
ANSWERED = "answered by Dovetail alone"
AT_TIMES = "run by Spark at times"
SAME_UNOPTIMIZED = "same as DuckDB's without its optimizer"

# Verdicts against plain Spark on wrong answers.
WRONG = (DIFFERENT, FAILED)

# How often plain Spark runs a query again that failed with Dovetail, and how often Dovetail then does.
ASKED_AGAIN = 12

ADAPTIVE = "spark.sql.adaptive.enabled"

# With the CBO on and wrong statistics, plain Spark trusts an estimate of one row while a query runs, and drops a
# DISTINCT (SPARK-57956: 9,588 rows of one value in query 16,495). Both sessions run without the rule.
EXCLUDED = "spark.sql.adaptive.optimizer.excludedRules"
ONE_ROW = "org.apache.spark.sql.catalyst.optimizer.OptimizeOneRowPlan"
SPARK_FAULTS = {EXCLUDED: ONE_ROW}

# Limits the result of a query to some million rows. Products of small tables may have 36 million and fill the driver.
RESULT_LIMIT = "spark.driver.maxResultSize"
MOST_RESULT = "8m"

# Without this rule, a query does not end early if an input turns out to be empty. With it, failing can be a race.
NO_EARLY_END = {EXCLUDED: f"{ONE_ROW},org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"}

# Matches, in the text of a plan from the top, joins and relations, which together are the tree of joins, and the
# aggregates that Dovetail adds below joins.
_TREE = re.compile(r"\bJoin (\w+)|\bRelation ([\w.]+)\[|\b(LocalRelation)\b|\b(early)_")


@dataclass(frozen=True)
class CheckResult:
    """A query with its verdicts.

    Attributes:
        number: Number from which the query can be made again.
        sql: Text of the query.
        settings: Settings under which it ran.
        changed: Whether Dovetail changed the tree of joins.
        rows: Number of rows of the answer.
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

    @property
    def wrong(self) -> bool:
        """Whether the answer of Dovetail or that of Spark is wrong."""
        return self.against_spark in WRONG or self.against_duckdb == DIFFERENT

    @property
    def uncompared(self) -> bool:
        """Whether an engine did not answer, at least at times."""
        return self.against_spark in (NOT_SPARK, ANSWERED, AT_TIMES) or self.against_duckdb == NOT_DUCKDB


def answers_target(wrong: Sequence[CheckResult], dialect: Dialect) -> dict[str, Any]:
    """The target that no answer is wrong. It tells apart from whose answers the wrong ones differ."""
    measured: object = len(wrong)
    engines = "Spark's"
    if dialect.duckdb:
        engines = "Spark's or DuckDB's"
        if wrong:
            against_spark = sum(q.against_spark in WRONG for q in wrong)
            measured = f"{len(wrong):,}, of them {against_spark:,} from Spark's"
    name = f"answers that differ from {engines}, queries that fail with Dovetail alone: none"
    return report.target(name, measured, not wrong)


class Runner:
    """Runs queries on a session without Dovetail, on one with it, and on DuckDB. Each thread has its own runner."""

    def __init__(self, spark: SparkSession, directory: Path, dialect: Dialect, seed: int) -> None:
        self._dialect, self._seed = dialect, seed
        self._plain, self._ours = spark.newSession(), spark.newSession()
        self._duckdb = SecondOpinion(directory) if dialect.duckdb else None
        for session, on in ((self._plain, "false"), (self._ours, "true")):
            _configure(session, {**tiny.QUERY, **SPARK_FAULTS, _sql.ENABLED_KEY: on})
            if not dialect.duckdb:
                executed_plan.watch(session)

    def run(self, numbers: Sequence[int]) -> Iterator[CheckResult]:
        """Checks queries that share a data set and settings."""
        database = self._dialect.tables(numbers[0] // PER_DATA_SET, self._seed).database
        chance = seeded(f"settings {self._seed} {numbers[0] // PER_SETTINGS}")
        settings = {key: chance.choice(values) for key, values in self._dialect.settings.items()}
        # drawn separately, so that the other settings of a number stay what they were
        settings[HISTORY] = seeded(f"history {self._seed} {numbers[0] // PER_SETTINGS}").choice(("false", "true"))
        for session in (self._plain, self._ours):
            _configure(session, {**settings, "spark.sql.cbo.joinReorder.enabled": settings["spark.sql.cbo.enabled"]})
            session.sql(f"USE {database}")
        if self._duckdb is not None:
            self._duckdb.use(database)
        for number in numbers:
            yield self._check(number, settings)

    def _check(self, number: int, settings: dict[str, str]) -> CheckResult:
        sql = self._dialect.text(seeded(f"query {self._seed} {number}"))
        plain = ours = None
        if self._duckdb is None and settings[ADAPTIVE] == "false":
            plain, ours = _planned(self._plain, sql), _planned(self._ours, sql)
            if plain is not None and ours is not None and _physical(plain) == _physical(ours):
                return CheckResult(number, sql, settings, False, 0, SAME_PLAN, NOT_ASKED)
        try:
            expected, before = _answer(self._plain, sql, plain)
        except Exception as failed:
            alone = not self._dialect.duckdb and not _too_large(failed) and self._answers(self._ours, sql)
            against = ANSWERED if alone else NOT_SPARK
            return CheckResult(number, sql, settings, False, 0, against, NOT_SPARK, _first_line(failed))
        try:
            found, after = _answer(self._ours, sql, ours)
        except Exception as failed:
            against = NOT_SPARK if _too_large(failed) else AT_TIMES if self._is_race(sql) else FAILED
            return CheckResult(number, sql, settings, False, 0, against, NOT_ASKED, _first_line(failed))
        differs = difference(expected, found, SAME_ENGINE)
        against_spark = DIFFERENT if differs else SAME
        against_duckdb, differs_from_duckdb = self._second_opinion(sql, found)
        detail = differs or differs_from_duckdb
        return CheckResult(number, sql, settings, before != after, len(found), against_spark, against_duckdb, detail)

    def _is_race(self, sql: str) -> bool:
        """Whether it is a race that a query failed with Dovetail.

        It is one if plain Spark fails at times, too. It also is one if plain Spark fails once it does not end queries
        early, and Dovetail answers at times.
        """
        if not all(self._answers(self._plain, sql) for _ in range(ASKED_AGAIN)):
            return True
        _configure(self._plain, NO_EARLY_END)
        try:
            early = not self._answers(self._plain, sql)
        finally:
            _configure(self._plain, SPARK_FAULTS)
        return early and any(self._answers(self._ours, sql) for _ in range(ASKED_AGAIN))

    @staticmethod
    def _answers(session: SparkSession, sql: str) -> bool:
        """Whether there is an answer. A query that Dovetail alone answers must not hang or end the session either."""
        try:
            _answer(session, sql)
        except Exception:
            return False
        return True

    def _second_opinion(self, sql: str, found: list[Row]) -> tuple[str, str]:
        """Verdict against DuckDB, and its reason."""
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


def _answer(
    session: SparkSession, sql: str, planned: DataFrame | None = None
) -> tuple[list[Row], list[tuple[str, ...]]]:
    """Runs a query. Returns its rows, and the tree of joins of its optimized plan.

    The tree lists joins and relations from the top, left before right. `planned` is the query if it is planned already.
    """
    frame = frame_of(session, sql) if planned is None else planned
    tree = _TREE.findall(frame._jdf.queryExecution().optimizedPlan().toString())
    return [tuple(map(_hashable, row)) for row in frame.collect()], tree


def _planned(session: SparkSession, sql: str) -> DataFrame | None:
    """A query with its physical plan, or None if it cannot be planned; running it then shows the error."""
    try:
        frame = frame_of(session, sql)
        frame._jdf.queryExecution().executedPlan()
    except Exception:
        return None
    return frame


def _physical(planned: DataFrame) -> str:
    """The physical plan, with its ids renumbered in the order in which they appear."""
    return executed_plan.normalized(planned._jdf.queryExecution().executedPlan().toString())


def _hashable(value: Any) -> Any:
    """Turns arrays, structs and maps into values that can be compared as sets."""
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return tuple(sorted(value.items(), key=str)) if isinstance(value, dict) else value


def _too_large(failed: Exception) -> bool:
    """Whether the result exceeded the limit. Equal rows may take a few bytes more in another order."""
    return RESULT_LIMIT in str(failed)


def _first_line(failed: Exception) -> str:
    return f"{type(failed).__name__}: {(str(failed).strip() or '?').splitlines()[0]}"
