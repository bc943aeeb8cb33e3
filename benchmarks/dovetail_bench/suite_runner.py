"""Runs a file of Spark's SQL suites in a new session, statement by statement, with Dovetail on or off.

Each run starts from the same tables in the same database, so that two runs can be compared statement by statement.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dovetail import _sql
from dovetail_bench import wrong_statistics
from dovetail_bench.queries import Query
from dovetail_bench.random_tables import seeded
from dovetail_bench.rows import Row
from dovetail_bench.session import frame_of
from dovetail_bench.suite_files import DATA
from dovetail_bench.verdict import Answer

# The tables that Spark's SQLQueryTestSuite makes: name → (file of tab-separated values, its schema).
_INTEGERS = (
    "unique1 unique2 two four ten twenty hundred thousand twothousand fivethous tenthous odd even".replace(
        " ", " INT, "
    )
    + " INT, stringu1 STRING, stringu2 STRING, string4 STRING"
)
FILES = {"aggtest": ("agg", "a INT, b FLOAT"), "onek": ("onek", _INTEGERS), "tenk1": ("tenk", _INTEGERS)}
QUERIES = {
    "testdata": "SELECT CAST(id AS INT) AS key, CAST(id AS STRING) AS value FROM range(1, 101)",
    "arraydata": "SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))), "
    "(array(2, 3, 4), array(array(2, 3, 4))) AS t(arraycol, nestedarraycol)",
    "mapdata": "SELECT CASE WHEN id < 5 THEN map(1, concat('a', id), 2, concat('b', id), 3, concat('c', id), "
    "4, concat('d', id), 5, concat('e', id)) ELSE map(1, 'a5') END AS mapcol FROM range(1, 6)",
}
TABLES = (*FILES, *QUERIES)

# The largest number of queries that the log can keep; a file has fewer.
LOG = {"spark.dovetail.log.queries": "10000"}

# Separator of the rows of an answer in text; no text of the suites contains it.
_BETWEEN = "\x1e"

# Matches, in the text of an optimized plan from the top, joins, and relations by name or, without one, by columns.
_TREE = re.compile(r"\bJoin (\w+)|\bRelation ([\w.]+)\[|\bLocalRelation (?:<empty>, )?\[([^\]]*)\]")
_IDS = re.compile(r"#\d+L?")
_FLOATING = re.compile(r"-?\d+\.\d+(E-?\d+)?|-?\d+E-?\d+|NaN|-?Infinity")
_VIEW = re.compile(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?TEMP(?:ORARY)?\s+VIEW\s+([\w.]+)", re.IGNORECASE)
_TABLE = re.compile(
    r"\s*(?:CREATE\s+TABLE(?:\s+IF\s+NOT\s+EXISTS)?|INSERT\s+(?:INTO|OVERWRITE)(?:\s+TABLE)?)\s+([\w.]+)", re.IGNORECASE
)


@dataclass(frozen=True)
class Outcome:
    """Result of a statement.

    Attributes:
        answer: Answer of a query; None for a command, and after an error.
        unlimited: Rows without the outermost LIMIT, if there is one.
        error: Error condition, or class of the error without a condition; empty if the statement succeeded.
        message: First line of the error.
        tree: Joins and relations of the optimized plan, from the top; empty if there is no join.
    """

    answer: Answer | None = None
    unlimited: list[Row] = field(default_factory=list)
    error: str = ""
    message: str = ""
    tree: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Ran:
    """Results of a run of a file.

    Attributes:
        outcomes: One result per statement.
        groups: Number of groups of three or more relations that Dovetail looked at.
        reordered: Number of groups whose order Dovetail changed.
    """

    outcomes: list[Outcome]
    groups: int
    reordered: int


class SuiteRunner:
    """Runs files one after the other, over test tables that are written once."""

    def __init__(self, spark: SparkSession, suites: Path, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        for name, (file, schema) in FILES.items():
            read = spark.read.schema(schema).option("sep", "\t").csv((suites / DATA / f"{file}.data").as_posix())
            read.coalesce(1).write.parquet(self._place(name))
        for name, query in QUERIES.items():
            spark.sql(query).coalesce(1).write.parquet(self._place(name))

    def run(
        self, name: str, statements: Sequence[str], settings: Mapping[str, str], *, dovetail: bool, wrong: int
    ) -> Ran:
        """Runs all statements of a file. With wrong statistics (`wrong` above 0), inline tables become tables."""
        self._clean()
        session = self._spark.newSession()
        conf = {**LOG, **settings, _sql.ENABLED_KEY: str(dovetail).lower()}
        for key, value in conf.items():
            session.conf.set(key, value)
        self._tell_tasks(conf)
        for table in TABLES:
            session.sql(f"CREATE TABLE {table} USING parquet LOCATION '{self._place(table)}'")
            if wrong:
                _mislead(session, f"{wrong} {name}", table)
        outcomes = []
        for number, statement in enumerate(statements):
            outcomes.append(_outcome(session, Query("sql-tests", f"{name}:{number}", statement)))
            if wrong and not outcomes[-1].error:
                _mislead_after(session, f"{wrong} {name}", statement)
        groups, reordered = 0, 0
        if dovetail:
            log = session.sql("SELECT coalesce(sum(groups), 0), coalesce(sum(reordered), 0) FROM dovetail_queries()")
            groups, reordered = (int(value) for value in log.collect()[0])
        self._tell_tasks(dict.fromkeys(conf))
        return Ran(outcomes, groups, reordered)

    def _tell_tasks(self, conf: Mapping[str, str | None]) -> None:
        """Passes settings to tasks. Spark does so only for SQL executions, and the plans that run here are none."""
        for key, value in conf.items():
            self._spark.sparkContext.setLocalProperty(key, value)  # type: ignore[arg-type]

    def _place(self, table: str) -> str:
        return (self._directory / table).as_posix()

    def _clean(self) -> None:
        """Removes what an earlier run left, because a file need not drop what it creates."""
        spark = self._spark
        spark.catalog.clearCache()
        for (database,) in spark.sql("SHOW DATABASES").collect():
            if database != "default":
                spark.sql(f"DROP DATABASE IF EXISTS `{database}` CASCADE")
        for row in spark.sql("SHOW TABLES IN default").collect():
            kind = "VIEW" if row.tableName in {view.viewName for view in _views(spark)} else "TABLE"
            spark.sql(f"DROP {kind} IF EXISTS default.`{row.tableName}`")
        for row in spark.sql("SHOW TABLES IN global_temp").collect():
            spark.sql(f"DROP VIEW IF EXISTS {row.namespace}.`{row.tableName}`")
        for (function,) in spark.sql("SHOW USER FUNCTIONS").collect():
            if "." in function:  # functions of extensions and of the session have no catalog
                spark.sql(f"DROP FUNCTION IF EXISTS {function}")
        for left in Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")).glob("*"):
            shutil.rmtree(left, ignore_errors=True)


def _views(spark: SparkSession) -> list[Any]:
    return spark.sql("SHOW VIEWS IN default").collect()


def _outcome(session: SparkSession, query: Query) -> Outcome:
    try:
        answer, tree = _answer(session, query.text)
        unlimited: list[Row] = []
        if answer is not None and query.has_limit:
            all_rows, _ = _answer(session, query.without_limit())
            unlimited = all_rows.rows if all_rows is not None else []
        return Outcome(answer, unlimited, tree=tree)
    except Exception as failed:
        return Outcome(error=_condition(failed), message=(str(failed).strip() or "?").splitlines()[0])


def _answer(session: SparkSession, sql: str) -> tuple[Answer | None, tuple[tuple[str, ...], ...]]:
    """The rows in text, as Spark's own suite writes them, because Python lacks some types. None for a command."""
    jvm: Any = session._jvm
    _class(jvm, session._jsparkSession.getClass().getName()).setActiveSession(session._jsparkSession)
    frame = frame_of(session, sql)
    execution = frame._jdf.queryExecution()
    if "Command" in execution.commandExecuted().nodeName():
        return None, ()
    plan = execution.optimizedPlan().toString()
    tree = tuple((join, name, _IDS.sub("", columns)) for join, name, columns in _TREE.findall(plan))
    text = jvm.org.apache.spark.sql.execution.HiveResult.hiveResultString(execution.executedPlan())
    rows = [] if text.isEmpty() else text.mkString(_BETWEEN).split(_BETWEEN)
    joins = any(join for join, _, _ in tree)
    return Answer(tuple(frame.columns), [_row(line, len(frame.columns)) for line in rows]), tree if joins else ()


def _class(jvm: Any, name: str) -> Any:
    """A class of the JVM by its name. The class of sessions has different names in Spark 3 and Spark 4."""
    return reduce(getattr, name.split("."), jvm)


def _row(line: str, columns: int) -> Row:
    """The values of a row of text. If a value contains a tab, the whole text becomes one value."""
    values = line.split("\t")
    if len(values) != columns:
        return (line, *(None,) * (columns - 1))
    return tuple(None if v == "NULL" else float(v) if _FLOATING.fullmatch(v) else v for v in values)


def _condition(failed: Exception) -> str:
    """The error condition nearest to the root cause; if there is none, the class of the error."""
    cause = getattr(failed, "_origin", None) or getattr(failed, "java_exception", None)
    found = ""
    while cause is not None:
        name = cause.getClass().getName()
        found = _condition_of(cause) or (found if found else name)
        cause = cause.getCause()
    return found or type(failed).__name__


def _condition_of(cause: Any) -> str:
    try:
        return str(cause.getCondition() or "")
    except Exception:  # not one of Spark's own errors: it has no such method
        return ""


def _mislead(session: SparkSession, name: str, table: str) -> None:
    wrong_statistics.tell(session, table, seeded(f"{name} {table.lower()}"))


def _mislead_after(session: SparkSession, name: str, statement: str) -> None:
    """Gives wrong statistics to the table that a statement made or filled. An inline table becomes a table first.

    An inline table that cannot become one (columns without a name or a type) stays as it is, in every run alike.
    """
    view, table = _VIEW.match(statement), _TABLE.match(statement)
    try:
        if table is not None:
            _mislead(session, name, table[1])
        if view is not None:
            optimized = session.table(view[1])._jdf.queryExecution().optimizedPlan()
            if optimized.nodeName() == "LocalRelation":
                kept = f"default.{view[1]}_kept"
                session.sql(f"DROP TABLE IF EXISTS {kept}")
                session.sql(f"CREATE TABLE {kept} USING parquet AS SELECT * FROM {view[1]}")
                _mislead(session, name, kept)
                session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view[1]} AS SELECT * FROM {kept}")
    except Exception:
        return
