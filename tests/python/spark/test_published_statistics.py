"""`spark.dovetail.stats.publish`: Spark's own explain shows statistics of files that were never analyzed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

PUBLISH = "spark.dovetail.stats.publish"
ROWS = 3000


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> str:
    path = (tmp_path / "data").as_posix()
    spark.range(ROWS).selectExpr("id", "id % 7 AS seven").write.parquet(path)
    return path


def test_explain_cost_shows_rows_of_files(spark: SparkSession, files: str, capsys: pytest.CaptureFixture[str]) -> None:
    for on, expected in (("false", 0), ("true", 1)):
        spark.conf.set(PUBLISH, on)
        try:
            text = spark.sql(f"EXPLAIN COST SELECT * FROM parquet.`{files}`").collect()[0][0]
            assert text.count("rowCount=3.00E+3") == expected
            spark.read.parquet(files).where("seven = 3").explain("cost")
            assert capsys.readouterr().out.count("rowCount=3.00E+3") == expected
        finally:
            spark.conf.unset(PUBLISH)


def test_spark_s_cbo_finds_columns(spark: SparkSession, files: str) -> None:
    settings = {PUBLISH: "true", "spark.sql.cbo.enabled": "true"}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        text = spark.sql(f"EXPLAIN COST SELECT id FROM parquet.`{files}` WHERE seven = 3").collect()[0][0]
        assert "rowCount=429" in text
        assert spark.read.parquet(files).where("seven = 3").count() == ROWS // 7 + (ROWS % 7 > 3)
    finally:
        for key in settings:
            spark.conf.unset(key)
