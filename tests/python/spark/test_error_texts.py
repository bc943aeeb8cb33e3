"""Errors of wrong input name what is wrong and what is allowed, in SQL without any Python code and in Python calls.

Spark's own errors about a query (no such table, no such column) keep their text.
"""

from __future__ import annotations

import logging
import queue
import traceback
from collections.abc import Callable
from logging.handlers import QueueHandler
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession, functions

import dovetail
from dovetail import _spark_errors, _sql
from dovetail._spark_errors import own_error
from dovetail.errors import (
    AnalyzeError,
    ColumnNotFoundError,
    ConfigError,
    DovetailError,
    PartitionNotFoundError,
    StatementError,
)

QUERY = (
    "SELECT count(*) FROM star.sales s JOIN star.item i ON s.item_id = i.item_id "
    "JOIN star.store t ON s.store_id = t.store_id"
)

STATEMENTS = [
    ("DOVETAIL", "at or near end of the statement: expected ANALYZE, CALIBRATE, CLEAR, FORGET, HELP, LOAD, PIN, "),
    ("DOVETAIL FOO", "or UNPIN. DOVETAIL HELP lists all statements"),
    ("DOVETAIL ANALYSE TABLE t", "at or near 'ANALYSE': expected ANALYZE, "),
    ("DOVETAIL ANALYSE TABLE t", "(did you mean ANALYZE?)"),
    ("DOVETAIL ANALYSE TABLE t", "(line 1, pos 9)"),
    ("DOVETAIL PROFILE", "expected a query. Allowed: DOVETAIL PROFILE <query>."),
    ("DOVETAIL PROFILE DROP TABLE t", "takes a query (SELECT …), not a command"),
    ("DOVETAIL CALIBRATE 5 ROWS", "DOVETAIL CALIBRATE takes 100000 to 1000000000 rows, not 5."),
    ("DOVETAIL ANALYZE star.sales", "expected TABLE, PATH or DATABASE. Allowed: DOVETAIL ANALYZE TABLE"),
    (
        "DOVETAIL ANALYZE TABLE star.sales COLUMN (price)",
        "at or near 'COLUMN': expected the end of the statement. Allowed: ",
    ),
    ("DOVETAIL ANALYZE TABLE range(10)", "at or near '(': expected the end of the statement. Allowed: "),
    ("DOVETAIL ANALYZE PATH '/data'", "expected a name. Allowed: DOVETAIL ANALYZE TABLE"),
    (
        "DOVETAIL ANALYZE TABLE star.sales COLUMNS (nope)",
        "spark_catalog.star.sales has no column nope. Columns: sale, item_id",
    ),
    (
        "DOVETAIL ANALYZE TABLE star.sales PARTITION (day = 1)",
        "partitioned by day. Partition columns: year, month.",
    ),
    (
        "DOVETAIL SET ROWS -1 FOR TABLE star.sales",
        "expected a whole number. Allowed: DOVETAIL SET ROWS <number> FOR TABLE <table>; ",
    ),
    ("DOVETAIL SET ROWS 1 FOR DROP TABLE t", "DOVETAIL SET ROWS takes a query (SELECT …), not a command: DROP TABLE t"),
    ("DOVETAIL SET ROWS 1000000 FOR TABLE two_tables", "DOVETAIL SET ROWS: two_tables is a view that is not just one"),
    ("DOVETAIL FORGET ROWS FOR TABLE two_tables", "DOVETAIL FORGET ROWS: two_tables is a view that is not just one"),
    ("DOVETAIL ANALYZE TABLE star.item PARTITION (x = 1)", "star.item is not partitioned. Leave out the partition."),
    (
        "DOVETAIL ANALYZE TABLE star.sales PARTITION (year = 2023.5)",
        "PARTITION: column year is BIGINT, and 2023.5 (DECIMAL(5,1)) is no value of it. Give a value of the ",
    ),
    ("DOVETAIL SAVE ROWS 's3a://b/x'", "'s3a://b/x' cannot be written: its file system cannot be loaded ("),
    ("DOVETAIL LOAD PINS 's3a://b/x'", "S3AFileSystem not found): add the jars of the file system to the session"),
    ("DOVETAIL FORGET ALL", "at or near 'ALL': expected FAILURES, HISTORY or ROWS. Allowed: DOVETAIL FORGET ROWS ["),
    ("DOVETAIL UNPIN", "expected the name of a pin. Allowed: DOVETAIL UNPIN <name>."),
    ("DOVETAIL UNPIN nope", "there is no pin 'nope'. Pins: "),
    ("DOVETAIL LOAD PINS '/no/such.json'", "'/no/such.json' cannot be read: File /no/such.json does not exist"),
    ("DOVETAIL LOAD ROWS '/no/such.json'", "'/no/such.json' cannot be read: File /no/such.json does not exist"),
    ("DOVETAIL SAVE PINS '/dev/null/x.json'", "'/dev/null/x.json' cannot be written: "),
    ("DOVETAIL SAVE PINS ''", "'' cannot be written: "),
    ("DOVETAIL LOAD ROWS ''", "'': "),
    ("SELECT * FROM dovetail_stats()", "dovetail_stats takes 1 argument, not 0. Usage: dovetail_stats(table)."),
    ("SELECT * FROM dovetail_version('x')", "dovetail_version takes 0 arguments, not 1. Usage: dovetail_version()."),
    ("SELECT * FROM dovetail_stats(1)", "must be constant strings, not 1. Usage: dovetail_stats(table)."),
    ("SELECT * FROM dovetail_explain(-1)", "dovetail_queries() has no query -1: "),
    ("SELECT * FROM dovetail_explain(true)", "must be constant strings or whole numbers, not true. Usage: "),
    ("SELECT * FROM dovetail_estimate(-1)", "must be constant strings, not -1. Usage: dovetail_estimate(sql)."),
    ("SELECT * FROM dovetail_explain('SELECT 1', 'pdf')", "there is no format 'pdf'. Allowed: text, verbose, json."),
    ("SELECT * FROM dovetail_explain('SELECT 1', 'text', 'x')", "'x' is not allowed here. Allowed: planned, actual"),
    ("SELECT * FROM dovetail_estimate('DROP TABLE t')", "dovetail_estimate takes a query (SELECT …), not a command"),
    ("SET spark.dovetail.reorder.minGain = 2", "spark.dovetail.reorder.minGain must be from 0.0 to 1.0"),
    ("SET spark.dovetail.cost.constants = x=1", "'x' is not one of rowProduced, "),
]


@pytest.mark.parametrize(("statement", "told"), STATEMENTS)
def test_statements(spark: SparkSession, tables: str, statement: str, told: str) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW two_tables AS SELECT count(*) AS n FROM star.item JOIN star.store")
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of many classes; the text is what counts
        _sql.rows(spark, statement)
    assert told in str(caught.value)
    assert "requirement failed" not in str(caught.value)


CONDITIONS = [
    ("DOVETAIL PROFILE DROP TABLE t", StatementError, "DOVETAIL_NOT_A_QUERY", {"asker": "DOVETAIL PROFILE"}),
    (
        "DOVETAIL ANALYZE TABLE star.sales COLUMNS (nope)",
        ColumnNotFoundError,
        "DOVETAIL_COLUMN_NOT_FOUND",
        {"column": "nope"},
    ),
    (
        "DOVETAIL ANALYZE TABLE star.sales PARTITION (day = 1)",
        PartitionNotFoundError,
        "DOVETAIL_PARTITION_NOT_FOUND",
        {"column": "day"},
    ),
    ("DOVETAIL UNPIN nope", StatementError, "DOVETAIL_PIN_NOT_FOUND", {"pin": "nope"}),
    ("DOVETAIL LOAD PINS '/no/such.json'", StatementError, "DOVETAIL_INVALID_FILE", {"path": "/no/such.json"}),
    ("SELECT * FROM dovetail_stats()", StatementError, "DOVETAIL_INVALID_ARGUMENT", {"function": "dovetail_stats"}),
    ("SET spark.dovetail.cost.constants = x=1", ConfigError, "DOVETAIL_INVALID_SETTING", {}),
]


@pytest.mark.parametrize(("statement", "kind", "condition", "parameters"), CONDITIONS)
def test_conditions(
    spark: SparkSession,
    tables: str,
    statement: str,
    kind: type[DovetailError],
    condition: str,
    parameters: dict[str, str],
) -> None:
    with pytest.raises(DovetailError) as caught:
        _sql.rows(spark, statement)
    found = caught.value
    assert (type(found), found.condition) == (kind, condition)
    # pyspark 3.5 keeps neither of them in an exception that it makes from a Java class that it knows
    if hasattr(found.__context__, "getCondition"):
        assert len(found.sql_state) == len("42601")
        assert parameters.items() <= found.parameters.items()


def test_an_error_is_told_once(
    spark: SparkSession, tables: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").touch()
    store = str(tmp_path / "taken" / "store")
    capfd.readouterr()
    with _sql.settings(spark, {"spark.dovetail.store.path": store}), pytest.raises(DovetailError) as caught:
        dovetail.analyze(spark, "star.store", progress=False)
    assert (type(caught.value), caught.value.condition) == (AnalyzeError, "DOVETAIL_STORE_NOT_WRITABLE")
    said = str(caught.value)
    assert said.startswith(f"Dovetail cannot write statistics to {store}: ")
    assert said.endswith(". Set spark.dovetail.store.path to a directory that this user may write to.")
    shown = "".join(traceback.format_exception(caught.value))
    assert "The above exception" not in shown
    assert "org.apache" not in shown
    # and pyspark has not logged it as well
    assert "SQLQueryContextLogger" not in capfd.readouterr().err


def test_a_store_without_its_file_system_is_named(spark: SparkSession, tables: str) -> None:
    with _sql.settings(spark, {"spark.dovetail.store.path": "s3a://b/c"}), pytest.raises(AnalyzeError) as caught:
        dovetail.analyze(spark, "star.store", progress=False)
    assert caught.value.condition == "DOVETAIL_STORE_NOT_WRITABLE"
    assert str(caught.value).startswith("Dovetail cannot write statistics to s3a://b/c: its file system cannot be")
    assert "Set spark.dovetail.store.path" in str(caught.value)


def test_errors_of_our_calls_are_not_logged_and_those_of_others_are(
    spark: SparkSession, spark_line: tuple[int, int]
) -> None:
    if spark_line < (4, 0):
        pytest.skip("pyspark 3.5 logs no errors")
    from pyspark.logger import PySparkLogger

    logged: queue.Queue[logging.LogRecord] = queue.Queue()
    handler = QueueHandler(logged)
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(handler)
    try:
        for call in (_sql.rows, SparkSession.sql):
            with pytest.raises(AnalysisException):
                call(spark, "SELECT * FROM nosuch")
    finally:
        logger.removeHandler(handler)
    assert logged.qsize() == 1


def test_a_statement_that_does_not_parse_is_an_error_of_spark(spark: SparkSession) -> None:
    with pytest.raises(ParseException) as caught:
        _sql.rows(spark, "DOVETAIL ANALYSE TABLE t")
    assert _spark_errors.condition(caught.value) == "PARSE_SYNTAX_ERROR"
    assert (caught.value.getMessageParameters() or {})["error"] == "'ANALYSE'"


CALLS: list[tuple[Callable[[SparkSession], object], str]] = [
    (lambda spark: dovetail.analyze(spark, "/data/sales"), "their path is between backticks: parquet.`/data/sales`."),
    (lambda spark: dovetail.analyze(spark, "/a/db.db/sales"), "between backticks: parquet.`/a/db.db/sales`"),
    (lambda spark: dovetail.analyze(spark, "orc./a/b.c/d"), "no table, view or database 'orc./a/b.c/d'. Files are"),
    (lambda spark: dovetail.analyze(spark, "orc./a/b.c/d", mode="spark"), "is between backticks: orc.`/a/b.c/d`"),
    (lambda spark: dovetail.stats(spark, "/a/db.db/sales"), "path is between backticks: parquet.`/a/db.db/sales`"),
    (lambda spark: dovetail.rows.save(spark, "s3a://b/x"), "'s3a://b/x' cannot be written: its file system cannot be"),
    (lambda spark: dovetail.pins.load(spark, "s3a://b/x"), "'s3a://b/x' cannot be read: its file system cannot be"),
    (
        lambda spark: dovetail.analyze(spark, "star.sales", partitions={"year": 2023.5}, progress=False),
        "column year is BIGINT, and 2023.5 (DECIMAL(5,1)) is no value of it",
    ),
    (
        lambda spark: dovetail.analyze(spark, "star.sales", partitions={"year": float("nan")}, progress=False),
        "nan cannot be a partition value: a number must be finite",
    ),
    (lambda spark: dovetail.explain("SELECT 1", spark).save(None), "path=None is not allowed: give a file"),  # type: ignore[arg-type]
    (
        lambda spark: dovetail.analyze(spark, "star.sale"),
        "no table 'star.sale'. Did you mean sales? Tables of",
    ),
    (lambda spark: dovetail.analyze(spark, "star.sales", 5), "columns=5 is not understood: pass a list"),  # type: ignore[arg-type]
    (lambda spark: dovetail.analyze(spark, 5), "a database or a DataFrame of Spark, got int."),  # type: ignore[arg-type]
    (lambda spark: dovetail.analyze(spark, QUERY), "analyze takes no query text. Pass a table, files or a DataFrame, "),
    (lambda spark: dovetail.analyze("star.sales", spark), "a Spark session is expected, got str: pass"),  # type: ignore[arg-type]
    (lambda spark: dovetail.stats(spark, 5), "a name, a DataFrame of Spark or the text of a query, got int"),  # type: ignore[arg-type]
    (lambda _: dovetail.status(None), "a Spark session is expected, got NoneType: pass the session that"),  # type: ignore[arg-type]
    (lambda _: dovetail.explain("SELECT 1", "html"), "a Spark session is expected, got str: pass the session that"),  # type: ignore[arg-type]
    (lambda spark: dovetail.compare(spark, 3), "compare takes a DataFrame of Spark or the text of a query, got int"),  # type: ignore[arg-type]
    (lambda _: dovetail.compare("x", "SELECT 1"), "a Spark session is expected, got str"),  # type: ignore[arg-type]
    (lambda spark: dovetail.compare(spark, QUERY, runs="3"), "runs='3' is not allowed: give a whole number"),  # type: ignore[arg-type]
    (lambda spark: dovetail.explain(True, spark), "the text of a query or its number, got bool"),
    (lambda spark: dovetail.explain(-1, spark), "there is no query -1: the numbers in dovetail.queries begin with 1"),
    (lambda spark: dovetail.explain("SELECT 1", spark, format=["html"]), "unknown format=['html']. Formats: 'text', "),  # type: ignore[arg-type]
    (lambda spark: dovetail.analyze(spark, "star.sales", functions.col("a")), "is not understood: pass a list"),  # type: ignore[arg-type]
    (lambda spark: dovetail.analyze(spark, "star.sales", mode=["spark"]), "there is no mode ['spark']. Allowed: "),  # type: ignore[arg-type]
    (lambda spark: dovetail.calibrate(spark, rows="500000"), "rows='500000' is not allowed: give a whole number"),  # type: ignore[arg-type]
    (lambda spark: dovetail.compare(spark, QUERY, runs=True), "runs=True is not allowed: give a whole number"),
    (lambda spark: dovetail.compare(spark, QUERY, tolerance="x"), "tolerance='x' is not allowed: give a number"),  # type: ignore[arg-type]
    (lambda spark: dovetail.explain(spark, QUERY), "explain takes the query first and the session second"),  # type: ignore[arg-type]
    (lambda spark: dovetail.analyze(spark, "star.sales", histogram="false"), "histogram='false' is not allowed: give"),  # type: ignore[arg-type]
    (lambda spark: dovetail.analyze(spark, "star.sales", mode="spark", noscan="no"), "noscan='no' is not allowed"),  # type: ignore[arg-type]
    (lambda spark: dovetail.pins.save(spark, 5), "text is expected for path, got 5"),  # type: ignore[arg-type]
    (lambda spark: dovetail.rows.tell(spark, 10**18, table="t"), "0 or more, with at most 18 digits"),
    (lambda spark: dovetail.rows.tell(spark, 5, table="star.sale"), "path 'star.sale'. Did you mean sales"),
    (lambda spark: dovetail.rows.forget(spark, table="star.sale"), "path 'star.sale'. Did you mean sales"),
    (lambda spark: dovetail.rows.tell(spark, True, table="t"), "rows=True is not allowed: give a whole number"),
    (lambda spark: dovetail.rows.tell(spark, 2.5, table="t"), "rows=2.5 is not allowed: give a whole number"),  # type: ignore[arg-type]
    (
        lambda spark: dovetail.enable(SparkSession.builder.config("spark.dovetail.reorder.mingain", "0.1")),
        "unknown setting spark.dovetail.reorder.mingain. Did you mean spark.dovetail.reorder.minGain",
    ),
]


@pytest.mark.parametrize(("call", "told"), CALLS)
def test_calls(spark: SparkSession, tables: str, call: Callable[[SparkSession], object], told: str) -> None:
    try:
        with pytest.raises(DovetailError) as caught:
            call(spark)
    finally:
        getattr(SparkSession.builder, "_options", {}).pop("spark.dovetail.reorder.mingain", None)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("DOVETAIL_ORDER('((x i) t)')", "the order '((x i) t)' is not used: 'x' is not one of s, i, t"),
        ("DOVETAIL_ORDER(sales, item, store)", "DOVETAIL_ORDER is not used: it takes an order in quotes, as in"),
        (
            "DOVETAIL_ODER('sales item store')",
            "DOVETAIL_ODER is not used: unknown hint. Allowed: DOVET",
        ),
    ],
)
def test_hints_without_effect_are_told(spark: SparkSession, tables: str, hint: str, told: str) -> None:
    found = dovetail.explain(QUERY.replace("SELECT", f"SELECT /*+ {hint} */"), spark)
    assert told in found.to_dict()["groups"][0]["reason"]


def test_a_file_of_something_else(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"query": "SELECT 1"}]')
    with pytest.raises(Exception, match=r"an entry must have a query or a table, and rows of 0 or more; found"):
        dovetail.rows.load(spark, str(tmp_path / "rows.json"))


def test_a_partition_without_files(spark: SparkSession, tables: str) -> None:
    with pytest.warns(dovetail.errors.DovetailWarning, match="these partitions have no files, so nothing was read"):
        dovetail.analyze(spark, "star.sales", partitions={"year": 1999}, progress=False)


def test_a_condition_in_the_jvm_makes_the_error(spark: SparkSession, spark_line: tuple[int, int]) -> None:
    if spark_line < (4, 0):
        pytest.skip("Spark 3.5 makes this exception with other arguments")
    from pyspark.errors.exceptions.captured import convert_exception

    context: Any = spark.sparkContext
    jvm, name = context._jvm, "DOVETAIL_COLUMN_NOT_FOUND"
    none, parameters = jvm.scala.Option.empty(), jvm.PythonUtils.toScalaMap({"column": "nmae"})
    where = context._gateway.new_array(jvm.org.apache.spark.QueryContext, 0)
    text = f"[{name}] 'nmae' is no column. SQLSTATE: 42703"
    exception = jvm.org.apache.spark.sql.AnalysisException
    found = own_error(
        convert_exception(exception(text, none, none, none, jvm.scala.Option.apply(name), parameters, where))
    )
    assert type(found) is ColumnNotFoundError
    assert str(found) == "'nmae' is no column."
    # Spark knows only the SQLSTATEs of its own conditions; this one comes from the text
    assert (found.condition, found.sql_state, found.parameters) == (name, "42703", {"column": "nmae"})
