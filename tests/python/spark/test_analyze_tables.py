"""analyze: each variant of Spark's ANALYZE, checked by the statistics that Spark and Dovetail have afterwards."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from frames import assert_rows
from pyspark.sql import DataFrame, SparkSession

import dovetail
from dovetail import DatabaseStats, DovetailWarning, TableStats, _analyze_target, _sql
from dovetail._analyze_mode import TOGGLE_KEY
from dovetail._analyze_spark import CBO_KEY, HISTOGRAM_KEY, partition_sizes
from dovetail._analyze_target import table
from dovetail.errors import (
    AnalyzeIncompleteError,
    ColumnNotFoundError,
    NotAnalyzableError,
    PartitionNotFoundError,
    TargetNotFoundError,
)


def spark_column(spark: SparkSession, table: str, column: str, name: str) -> DataFrame:
    """The statistic of this name of a column in Spark's catalog."""
    described = spark.sql(f"DESCRIBE TABLE EXTENDED {table} `{column}`")
    return described.where(f"info_name = '{name}'").select("info_value")


def spark_size(spark: SparkSession, table: str) -> DataFrame:
    """The size of a table in Spark's catalog."""
    return spark.sql(f"DESCRIBE TABLE EXTENDED {table}").where("col_name = 'Statistics'").select("data_type")


@pytest.fixture
def fresh(spark: SparkSession) -> str:
    """A table of which only the size is known."""
    spark.sql("DROP TABLE IF EXISTS fresh")
    columns = "id AS k, id % 10 AS g, CAST(id AS STRING) AS s, array(id) AS tags, id AS `odd ``n.ame`"
    spark.sql(f"CREATE TABLE fresh USING parquet AS SELECT {columns} FROM range(1000)")
    return "fresh"


def analyzed(spark: SparkSession, table: str, **arguments: object) -> TableStats:
    result = dovetail.analyze(spark, table, mode="spark", progress=False, **arguments)  # type: ignore[arg-type]
    assert isinstance(result, TableStats)
    return result


def test_table(spark: SparkSession, fresh: str) -> None:
    result = analyzed(spark, fresh)
    assert result.rows == 1000
    assert result.source == "catalog"
    assert_rows(spark_size(spark, fresh), (f"{result.size_bytes} bytes, 1000 rows",))
    assert_rows(spark_column(spark, fresh, "k", "distinct_count"), ("NULL",))
    assert json.loads(json.dumps(result.to_dict()))["rows"] == 1000


def test_noscan_reads_no_rows(spark: SparkSession, fresh: str, spark_line: tuple[int, int]) -> None:
    result = analyzed(spark, fresh, noscan=True)
    assert result.size_bytes is not None
    assert result.size_bytes > 1000
    # Spark 4 adds "0 rows" to the bytes without counting rows, and Dovetail ignores this number.
    assert_rows(
        spark_size(spark, fresh), (f"{result.size_bytes} bytes" + (", 0 rows" if spark_line >= (4, 0) else ""),)
    )
    assert result.rows != 0


def test_noscan_misleads_sparks_own_optimizer(spark: SparkSession, fresh: str, spark_line: tuple[int, int]) -> None:
    spark.conf.set(CBO_KEY, "true")
    try:
        if spark_line >= (4, 0):
            with pytest.warns(DovetailWarning, match="0 rows"):
                analyzed(spark, fresh, noscan=True)
        else:
            analyzed(spark, fresh, noscan=True)
    finally:
        spark.conf.unset(CBO_KEY)


def test_columns(spark: SparkSession, fresh: str) -> None:
    result = analyzed(spark, fresh, columns=["K", "odd `n.ame"])
    assert result["k"].distinct_count == pytest.approx(1000, rel=0.05)
    assert (result["k"].min, result["k"].max, result["k"].null_count) == ("0", "999", 0)
    assert result["odd `n.ame"].max == "999"
    # the files tell, although nobody has counted this column
    assert result["g"].distinct_count == 10
    assert result["k"].histogram_bins is None


def test_a_column_that_is_named_like_a_header(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE header USING parquet PARTITIONED BY (p) AS SELECT 1 `# of items`, 2 k, 3 p")
    try:
        assert analyzed(spark, "header", columns=["k"])["k"].max == "2"
        assert analyzed(spark, "header", columns=["# of items"])["# of items"].max == "1"
    finally:
        spark.sql("DROP TABLE header")


def test_all_columns_but_those_without_statistics(spark: SparkSession, fresh: str) -> None:
    with pytest.warns(DovetailWarning, match=r"no statistics for tags \(array<bigint>\)") as warned:
        result = dovetail.analyze(spark, fresh, columns="all", progress=False, mode="spark")
    assert [warning.filename for warning in warned if warning.category is DovetailWarning] == [__file__]
    assert isinstance(result, TableStats)
    assert result["g"].distinct_count == 10
    assert result["s"].distinct_count == pytest.approx(1000, rel=0.1)
    assert result["tags"].distinct_count is None


@pytest.mark.parametrize("before", [None, "true", "false"])
def test_histogram_for_this_call_only(spark: SparkSession, fresh: str, before: str | None) -> None:
    if before is not None:
        spark.conf.set(HISTOGRAM_KEY, before)
    try:
        assert analyzed(spark, fresh, columns=["k"], histogram=True)["k"].histogram_bins == 254
        shown = spark_column(spark, fresh, "k", "histogram").selectExpr("info_value LIKE 'height%'")
        assert_rows(shown.limit(1), (True,))
        assert analyzed(spark, fresh, columns=["k"], histogram=False)["k"].histogram_bins is None
        with pytest.raises(ColumnNotFoundError):
            analyzed(spark, fresh, columns=["nope"], histogram=True)
        assert spark.conf.get(HISTOGRAM_KEY, None) == before
    finally:
        spark.conf.unset(HISTOGRAM_KEY)


@pytest.mark.parametrize(
    ("toggle", "sparks", "argument", "bins"),
    [
        ("true", "true", None, 254),
        ("true", "false", None, None),
        ("false", "true", None, None),
        ("false", "false", True, 254),
        ("true", "true", False, None),
    ],
)
def test_the_toggle_governs_what_is_collected(
    spark: SparkSession, fresh: str, toggle: str, sparks: str, argument: bool | None, bins: int | None
) -> None:
    with (
        _sql.settings(spark, {TOGGLE_KEY: toggle, HISTOGRAM_KEY: sparks}),
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always")
        analyzed(spark, fresh, columns=["k"], histogram=argument)
        assert spark.conf.get(HISTOGRAM_KEY) == sparks
    assert dovetail.stats(spark, fresh)["k"].histogram_bins == bins
    # an explicit histogram=True builds a histogram, with a warning that Dovetail does not use it
    told = [warning for warning in said if f"{TOGGLE_KEY}=false" in str(warning.message)]
    assert len(told) == (1 if toggle == "false" and argument else 0)


def test_partitions(spark: SparkSession, tables: str) -> None:
    one = analyzed(spark, "star.sales", partitions={"year": 2023, "month": "m1"})
    assert [(p.partition, p.rows) for p in one.partitions] == [("year=2023/month=m1", 1666)]
    assert one.partitions[0].size_bytes > 0  # type: ignore[operator]
    beneath = analyzed(spark, "star.sales", partitions=[{"YEAR": 2024}], noscan=True)
    assert [p.partition for p in beneath.partitions] == [f"year=2024/month=m{m}" for m in range(3)]
    assert [p.rows for p in beneath.partitions] == [None, None, None]
    every = analyzed(spark, "star.sales", partitions="all")
    assert sum(p.rows or 0 for p in every.partitions) == 10000
    assert "year=2023/month=m0" in str(every)


def test_the_null_partition_and_special_characters(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS odd_parts")
    spark.sql("CREATE TABLE odd_parts (k INT, p STRING) USING parquet PARTITIONED BY (p)")
    spark.sql(r"INSERT INTO odd_parts VALUES (1, NULL), (2, NULL), (3, 'it\'s a/b=c%')")
    named = analyzed(spark, "odd_parts", partitions={"p": "it's a/b=c%"})
    assert [(p.partition, p.rows) for p in named.partitions] == [("p=it%27s a%2Fb%3Dc%25", 1)]
    null = analyzed(spark, "odd_parts", partitions={"p": None}, noscan=True)
    assert [(p.partition, p.rows) for p in null.partitions] == [("p=__HIVE_DEFAULT_PARTITION__", None)]
    # Given by its value, Spark does not count the rows of the NULL partition, so analyze refuses this without noscan.
    spark.sql("ANALYZE TABLE odd_parts PARTITION (p = NULL) COMPUTE STATISTICS")
    assert partition_sizes(spark, table(spark, ("odd_parts",)), ["PARTITION (p = NULL)"])[0].rows is None
    with pytest.raises(NotAnalyzableError, match="does not count its rows"):
        analyzed(spark, "odd_parts", partitions={"p": None})
    assert [p.rows for p in analyzed(spark, "odd_parts", partitions="all").partitions] == [2, 1]


def test_a_database(spark: SparkSession, tables: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = dovetail.analyze(spark, tables, columns="all", mode="spark")
    assert isinstance(result, DatabaseStats)
    assert [(table.table, table.rows) for table in result] == [("item", 100), ("sales", 10000), ("store", 10)]
    assert result["item"]["item_id"].distinct_count == pytest.approx(100, rel=0.05)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0] for line in lines if line.startswith("analyze star")] == [
        "analyze star: item",
        "analyze star: sales",
        "analyze star: store",
    ]


def test_a_temporary_view_hides_no_table_of_a_database(spark: SparkSession, tables: str) -> None:
    """SHOW VIEWS also shows the temporary views of the session."""
    spark.range(3).createOrReplaceTempView("sales")
    try:
        assert _analyze_target.database(spark, (tables,)).tables == ("item", "sales", "store")
    finally:
        spark.catalog.dropTempView("sales")


def test_a_table_hides_a_database_of_its_name(spark: SparkSession, tables: str) -> None:
    spark.sql("DROP TABLE IF EXISTS star")
    spark.sql("CREATE TABLE star USING parquet AS SELECT 1 AS one")
    try:
        assert isinstance(dovetail.analyze(spark, "star", progress=False, mode="spark"), TableStats)
        assert isinstance(dovetail.analyze(spark, "star.*", progress=False, mode="spark"), DatabaseStats)
    finally:
        spark.sql("DROP TABLE star")


def test_names_with_catalog_and_backticks(spark: SparkSession, tables: str) -> None:
    assert analyzed(spark, "spark_catalog.`star`.item").rows == 100
    assert analyzed(spark, " STAR . Item ").rows == 100


@pytest.mark.parametrize("columns", [["item_id"], None])
def test_one_failing_table_does_not_lose_the_others(
    spark: SparkSession, tmp_path: Path, columns: list[str] | None
) -> None:
    spark.sql("DROP DATABASE IF EXISTS half CASCADE")
    spark.sql("CREATE DATABASE half")
    spark.sql("CREATE TABLE half.good USING parquet AS SELECT 1 AS a")
    spark.sql("CREATE TABLE half.lost (a INT) USING parquet LOCATION '/nonexistent/dovetail'")
    spark.sql("CREATE TABLE half.zero USING parquet AS SELECT 2 AS a")
    if columns is not None:
        with pytest.raises(NotAnalyzableError, match=r"half is a database.*Tables: good, lost, zero"):
            dovetail.analyze(spark, "half", columns=columns, progress=False, mode="spark")
        return
    spark.sql("ALTER TABLE half.lost SET TBLPROPERTIES ('x' = '1')")
    spark.sql("CREATE TABLE half.maps USING parquet AS SELECT map('a', 1) AS m")
    (tmp_path / "junk.parquet").write_text("this is not Parquet")
    spark.sql(f"CREATE TABLE half.junk (a INT) USING parquet LOCATION '{tmp_path}'")
    with pytest.raises(AnalyzeIncompleteError) as raised:
        dovetail.analyze(spark, "half", columns="all", progress=False, mode="spark")
    assert [table.table for table in raised.value.done] == ["good", "lost", "zero"]
    assert list(raised.value.failures) == ["junk", "maps"]
    assert "2 of 5 tables of half could not be analyzed" in str(raised.value)
    assert "Spark could not analyze half.junk:" in raised.value.failures["junk"]
    assert "The statement was: ANALYZE TABLE `half`.`junk` COMPUTE STATISTICS FOR ALL COLUMNS" in str(raised.value)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("star.saless", r"no table 'star\.saless'\. Did you mean sales\? Tables of database star: .*item.*sales"),
        ("stra.sales", r"no database 'stra'\. Did you mean star\? Databases: .*star"),
        ("starr", r"no table, view or database 'starr'\. Did you mean star\?"),
        ("nocat.star.sales", r"no table 'nocat\.star\.sales'"),
        ("starr.*", r"no .*'starr'"),
    ],
)
def test_a_wrong_name_says_what_there_is(spark: SparkSession, tables: str, target: str, said: str) -> None:
    with pytest.raises(TargetNotFoundError, match=said):
        dovetail.analyze(spark, target, mode="spark")


def test_a_wrong_partition_lists_those_there_are(spark: SparkSession, tables: str) -> None:
    with pytest.raises(PartitionNotFoundError, match=r"Did you mean year=202.* Partitions: year=2023/month=m0"):
        dovetail.analyze(spark, "star.sales", partitions={"year": 2022}, progress=False, mode="spark")
    with pytest.raises(PartitionNotFoundError, match=r"not partitioned by 'item_id'"):
        dovetail.analyze(spark, "star.sales", partitions={"item_id": 1}, progress=False, mode="spark")


def test_targets_without_a_place_in_the_catalog(spark: SparkSession, tables: str) -> None:
    with pytest.raises(NotAnalyzableError, match=r"is a path.*CREATE TABLE name USING parquet LOCATION '/data/x'"):
        dovetail.analyze(spark, "parquet.`/data/x`", mode="spark")
    with pytest.raises(NotAnalyzableError, match=r"got DataFrame.*saveAsTable"):
        dovetail.analyze(spark, spark.range(3), mode="spark")
    with pytest.raises(NotAnalyzableError, match="it is a view"):
        dovetail.analyze(spark, "star.names", progress=False, mode="spark")


def test_temporary_views(spark: SparkSession) -> None:
    spark.range(50).createOrReplaceTempView("fifty")
    with pytest.raises(NotAnalyzableError, match=r"temporary view, for which Spark collects only column statistics"):
        dovetail.analyze(spark, "fifty", progress=False, mode="spark")
    with pytest.raises(NotAnalyzableError, match="not cached"):
        dovetail.analyze(spark, "fifty", columns="all", progress=False, mode="spark")
    spark.sql("CACHE TABLE fifty")
    try:
        assert analyzed(spark, "fifty", columns=["id"]).rows == 50
    finally:
        spark.sql("UNCACHE TABLE fifty")


def test_a_table_of_a_v2_catalog(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS v2.S")
    spark.sql("CREATE TABLE v2.S.T (A INT)")
    with pytest.raises(NotAnalyzableError, match="a table of a V2 catalog"):
        dovetail.analyze(spark, "v2.S.T", progress=False, mode="spark")
    with pytest.raises(AnalyzeIncompleteError, match="1 of 1 tables"):
        dovetail.analyze(spark, "v2.S", progress=False, mode="spark")


def test_modes(spark: SparkSession) -> None:
    with pytest.raises(NotAnalyzableError, match=r"no mode 'fast'\. Allowed: 'dovetail'"):
        dovetail.analyze(spark, "t", mode="fast")
    with pytest.raises(NotAnalyzableError, match="cannot count groups of columns"):
        dovetail.analyze(spark, "t", mode="spark", groups=[["a", "b"]])


def test_a_column_on_which_sparks_own_estimator_fails_is_warned_of(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS instants")
    spark.sql("CREATE TABLE instants USING parquet AS SELECT TIMESTAMP_NTZ'2024-01-01 00:00:00' AS at, 1 AS a")
    spark.conf.set(CBO_KEY, "true")
    try:
        with pytest.warns(DovetailWarning, match=r"MatchError: TimestampNTZType.*at"):
            analyzed(spark, "instants", columns="all")
        # The warning is true: with Dovetail off, Spark fails.
        spark.conf.set("spark.dovetail.enabled", "false")
        with pytest.raises(Exception, match=r"TimestampNTZType|INTERNAL_ERROR"):
            # a join, because its planning needs the filter's size; explain(mode="cost") needs it outside of planning,
            # under the settings of the session that the JVM's thread used last
            spark.sql(
                "SELECT * FROM instants JOIN range(3) ON a = id WHERE at > TIMESTAMP_NTZ'2023-01-01 00:00:00'"
            ).collect()
    finally:
        spark.conf.unset(CBO_KEY)
        spark.conf.unset("spark.dovetail.enabled")


@pytest.mark.parametrize(
    ("type_", "works"),
    [
        ("boolean", True),
        ("decimal(38,10)", True),
        ("timestamp_ntz", True),
        ("binary", True),
        ("char(3)", True),
        ("varchar(3)", True),
        ("float", True),
        ("array<int>", False),
        ("map<int,int>", False),
        ("struct<a:int>", False),
        ("interval day to second", False),
        ("interval year to month", False),
    ],
)
def test_which_types_have_statistics_is_what_spark_says(spark: SparkSession, type_: str, works: bool) -> None:
    spark.sql("DROP TABLE IF EXISTS typed")
    spark.sql(f"CREATE TABLE typed (c {type_}) USING parquet")
    statement = "ANALYZE TABLE typed COMPUTE STATISTICS FOR COLUMNS c"
    assert table(spark, ("typed",)).analyzable("c") is works
    if works:
        spark.sql(statement)
    else:
        with pytest.raises(Exception, match="does not support the type"):
            spark.sql(statement)
