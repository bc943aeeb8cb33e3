"""stats: tables, views and paths, each number with its source."""

from __future__ import annotations

from pathlib import Path

import pytest
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
    spark.sql("CREATE TABLE unknown USING csv AS SELECT id AS a FROM range(10)")
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


@pytest.mark.parametrize("target", ["nosuch", "nodb.nosuch", "star.`no such`", "parquet.`/nonexistent/dovetail`"])
def test_a_target_that_is_not_there(spark: SparkSession, tables: str, target: str) -> None:
    with pytest.raises(TargetNotFoundError, match="there is no table, view or path"):
        dovetail.stats(spark, target)


def test_a_target_that_is_no_name(spark: SparkSession) -> None:
    with pytest.raises(StatementError, match="not a table name"):
        dovetail.stats(spark, "a..b")
