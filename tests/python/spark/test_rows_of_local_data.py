"""Rows of DataFrames that are made of Python's own data are counted, unless a function may have changed them."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import dovetail
from dovetail import _sql

KEYED = "k int, n string"


@pytest.fixture(scope="module")
def around(spark: SparkSession) -> Iterator[DataFrame]:
    spark.sql("CREATE TABLE lf USING parquet AS SELECT id AS o, id % 100 AS k FROM range(2000)")
    spark.sql("CREATE TABLE ls USING parquet AS SELECT id AS o, id % 50 AS x FROM range(2000)")
    yield spark.table("lf").join(spark.table("ls"), "o")
    spark.sql("DROP TABLE lf")
    spark.sql("DROP TABLE ls")


def rows(around: DataFrame, local: DataFrame) -> tuple[float, float | None, str]:
    """Value, upper bound and source of what is estimated of the local data."""
    (group,) = dovetail.explain(around.join(local, "k")).to_dict()["groups"]
    (found,) = [r["rows"] for r in group["relations"] if r["name"] not in ("lf", "ls")]
    return found["value"], found["upper"], found["source"]


TYPES = (
    "k int, d date, t timestamp, c decimal(5,2), a array<int>, m map<string,int>, s struct<x:int,y:int>, b binary, "
    "bo boolean, n string, fl double, l long"
)
ALL_TYPES = (
    datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1),
    decimal.Decimal("1.5"),
    [1, 2],
    {"a": 1},
    (1, 2),
    b"x",
    True,
    None,
    1.5,
    2**60,
)


@pytest.mark.parametrize(
    ("data", "schema", "count"),
    [
        ([(1, "a"), (2, "b")], KEYED, 2),
        ([(1, "a")], KEYED, 1),
        ([], KEYED, 0),
        ([Row(k=1, n="a")] * 7, None, 7),
        ([{"k": 1}] * 5, None, 5),
        ([(number, *ALL_TYPES) for number in range(3000)], TYPES, 3000),
        # several batches, the last one not full
        ([(number, "abcdefgh") for number in range(100_003)], KEYED, 100_003),
        (pd.DataFrame({"k": [1, 2, 3], "n": ["a", "b", "c"]}), None, 3),
    ],
    ids=["two", "one", "none", "rows", "dictionaries", "types", "batches", "pandas"],
)
@pytest.mark.parametrize("arrow", ["false", "true"])
def test_rows_are_counted(
    spark: SparkSession, around: DataFrame, data: Any, schema: str | None, count: int, arrow: str
) -> None:
    with _sql.settings(spark, {"spark.sql.execution.arrow.pyspark.enabled": arrow}):
        local = spark.createDataFrame(data, schema) if schema else spark.createDataFrame(data)
    assert rows(around, local) == (count, count, "exact")
    assert local.count() == count


def test_rows_that_are_to_be_cached_are_counted(spark: SparkSession, around: DataFrame) -> None:
    cached = spark.createDataFrame([(1, "a"), (2, "b")], KEYED).select("n", "k").cache()
    # nothing has filled it yet
    assert rows(around, cached) == (2, 2, "exact")
    cached.unpersist()


def test_what_runs_a_function_is_not_counted(spark: SparkSession, around: DataFrame) -> None:
    few = spark.sparkContext.parallelize([(1, "a")] * 3)
    for changed in (
        few.flatMap(lambda row: [row] * 100),
        few.mapPartitions(lambda part: list(part) * 9),
        few.filter(lambda row: row[0] > 1),
        few.union(few),
        # a collection without elements: each part makes its own
        spark.sparkContext.parallelize(range(1000)).map(lambda number: (number, "a")),
    ):
        assert rows(around, spark.createDataFrame(changed, KEYED)) == (1_000_000, None, "assumed")


def test_large_values_are_not_broadcast_for_their_few_rows(spark: SparkSession) -> None:
    """Pickle writes a string once that a thousand rows share: the bytes of the rows are not those of the collection."""
    shared = "y" * 200_000
    local = spark.createDataFrame([(number, shared) for number in range(1000)], KEYED)
    many, others = spark.range(20_000_000).toDF("k"), spark.range(20_000_000).toDF("k2")
    query = many.join(local, "k").join(others, many.k == others.k2).select("k", "n")
    (group,) = dovetail.explain(query).to_dict()["groups"]
    assert {r["name"]: r["rows"]["value"] for r in group["relations"]}["logical_rdd"] == 1000
    joins = (group["after"] or group["before"])["joins"]
    assert not [join["method"] for join in joins if join["method"].startswith("broadcast")]
