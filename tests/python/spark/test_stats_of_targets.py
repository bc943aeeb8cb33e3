"""stats: tables, views and paths, each number with its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

import dovetail
from dovetail.errors import StatementError, TargetNotFoundError


def test_an_analyzed_table(spark: SparkSession, tables: str) -> None:
    spark.sql("DROP TABLE IF EXISTS star.shops")
    spark.sql("CREATE TABLE star.shops USING parquet AS SELECT * FROM star.store")
    dovetail.analyze(spark, "star.shops", columns="all", mode="spark", progress=False)
    stats = dovetail.stats(spark, "star.shops")
    spark.sql("DROP TABLE star.shops")
    assert (stats.table, stats.rows, stats.source) == ("star.shops", 10, "catalog")
    assert [column.name for column in stats.columns] == ["store_id", "region"]
    assert (stats["region"].distinct_count, stats["region"].min, stats["region"].max) == (3, "0", "2")
    assert stats["region"].source == "catalog"


def test_an_unknown_column_is_unknown_not_zero(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS unknown")
    # Dovetail reads no lines of this table, because a row may span several lines
    spark.sql("CREATE TABLE unknown USING csv OPTIONS (multiLine true) AS SELECT id AS a FROM range(10)")
    column = dovetail.stats(spark, "unknown")["a"]
    assert (column.distinct_count, column.null_count, column.min, column.max) == (None, None, None, None)
    assert column.source != "catalog"


def test_views_and_paths(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(20).write.parquet(str(tmp_path / "it's"))
    stats = dovetail.stats(spark, f"parquet.`{tmp_path}/it's`")
    assert [column.name for column in stats.columns] == ["id"]
    assert (stats.rows, stats.source, stats["id"].max) == (20, "footer", "19")
    assert stats.size_bytes is not None
    spark.range(20).createOrReplaceTempView("twenty")
    assert dovetail.stats(spark, "twenty").rows == 20


@pytest.mark.parametrize("target", ["nosuch", "nodb.nosuch", "star.`no such`", "nocat.db.t", "parquet.`/no/such`"])
def test_a_target_that_is_not_there(spark: SparkSession, tables: str, target: str) -> None:
    with pytest.raises(TargetNotFoundError, match="there is no table, view or path"):
        dovetail.stats(spark, target)


def test_a_target_that_is_not_there_may_be_near(spark: SparkSession, tables: str) -> None:
    with pytest.raises(TargetNotFoundError, match=r"'star.sale'. Did you mean sales\b.* Expected db.table"):
        dovetail.stats(spark, "star.sale")
    with pytest.raises(TargetNotFoundError, match="Files are named with their format"):
        dovetail.stats(spark, "data/sales")


def test_the_size_of_a_query_is_that_of_its_rows(spark: SparkSession, tables: str) -> None:
    """Spark multiplies the sizes of joined tables."""
    stats = dovetail.stats(spark, "-- of a day\nSELECT * FROM star.sales JOIN star.item USING (item_id)")
    assert stats.rows == 10_000
    assert stats.size_bytes is not None
    assert 10_000 * 20 < stats.size_bytes < 10_000 * 200


def test_values_that_are_as_frequent_are_in_their_order(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS evens")
    spark.sql("CREATE TABLE evens USING parquet AS SELECT id % 20 AS a FROM range(1000)")
    stats = dovetail.analyze(spark, "evens", progress=False)
    spark.sql("DROP TABLE evens")
    assert isinstance(stats, dovetail.TableStats)
    assert list(stats["a"].top_values) == ["0", "1", "2", "3", "4"]


def test_a_target_that_is_no_name(spark: SparkSession) -> None:
    with pytest.raises(StatementError, match="not a table name"):
        dovetail.stats(spark, "a..b")


def test_an_error_in_a_query_shows_the_query_alone(spark: SparkSession) -> None:
    with pytest.raises(ParseException) as caught:
        dovetail.stats(spark, "SELECT 1; SELECT 2")
    assert "__dovetail" not in str(caught.value)
    assert "pos 10" in str(caught.value)


def test_what_was_collected_has_an_age(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS aged")
    spark.sql("CREATE TABLE aged USING parquet AS SELECT id % 3 AS a, concat('w', id % 2) AS `b, c` FROM range(1000)")
    stats = dovetail.analyze(spark, "aged", groups=[["a", "b, c"]], progress=False)
    assert isinstance(stats, dovetail.TableStats)
    assert (stats.fresh, stats.unread_files, stats.sample_rows) == (True, 0, 1000)
    assert stats["b, c"].top_values == {"w0": 500, "w1": 500}
    assert (stats["b, c"].frequent_values, stats["b, c"].min, stats["b, c"].max) == (2, "w0", "w1")
    assert [(group.columns, group.distinct_count) for group in stats.groups] == [(("a", "b, c"), 6)]
    assert "unchanged since; a sample of 1,000 rows" in str(stats)
    assert "exact: w0 500, w1 500" in str(stats)
    assert (stats["b, c"].top_counts, stats["b, c"].distinct_error, stats["b, c"].confidence) == ("exact", 0.0, "exact")
    plain = stats.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    spark.sql("INSERT INTO aged VALUES (7, 'x')")
    later = dovetail.stats(spark, "aged")
    assert later.fresh is False
    assert later.collected_at == stats.collected_at
    assert "stale" in str(later)
    spark.sql("DROP TABLE aged")


def test_numbers_that_are_estimates_say_so(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS items")
    # 3 rows of each item; 6,000 of 18,000 rows have one kind
    kinds = "CASE WHEN id % 3 = 0 THEN 'common' ELSE concat('kind', id % 5000) END"
    spark.sql(
        f"CREATE TABLE items USING parquet AS SELECT concat('item', id % 6000) item, CAST(id % 1800 AS INT) n, "
        f"{kinds} AS kind FROM range(0, 18000, 1, 1)"
    )
    stats = dovetail.analyze(spark, "items", progress=False)
    assert isinstance(stats, dovetail.TableStats)
    item, n, kind = stats["item"], stats["n"], stats["kind"]
    assert item.top_values == {}
    assert item.confidence == n.confidence == "estimated"
    assert item.distinct_error == pytest.approx(0.016, abs=0.001)
    assert item.distinct_count == pytest.approx(6000, rel=0.08)
    assert n.distinct_count is not None
    assert n.distinct_count <= 1800
    assert kind.top_counts == "at least"
    assert next(iter(kind.top_values)) == "common"
    assert 5000 <= kind.top_values["common"] <= 6000
    assert "±1.6%" in str(stats)
    assert "at least: common" in str(stats)
    spark.sql("DROP TABLE items")
