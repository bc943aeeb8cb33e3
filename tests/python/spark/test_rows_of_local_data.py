"""Dovetail counts the rows of DataFrames from local Python data, unless a function may have changed them."""

from __future__ import annotations

import datetime
import decimal
import functools
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

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
    """Value, upper bound and source of the estimate for the local data."""
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
    # the cache is still empty
    assert rows(around, cached) == (2, 2, "exact")
    cached.unpersist()


def test_what_runs_a_function_is_not_counted(spark: SparkSession, around: DataFrame) -> None:
    few = spark.sparkContext.parallelize([(1, "a")] * 3)
    for changed in (
        few.flatMap(lambda row: [row] * 100),
        few.mapPartitions(lambda part: list(part) * 9),
        few.filter(lambda row: row[0] > 1),
        few.union(few),
        # a range is sent without its elements: each partition generates its own
        spark.sparkContext.parallelize(range(1000)).map(lambda number: (number, "a")),
    ):
        assert rows(around, spark.createDataFrame(changed, KEYED)) == (1_000_000, None, "assumed")


ROW = StructType([StructField("k", IntegerType(), False), StructField("flatMap", StringType())])
"""A column's name is no function."""


@pytest.mark.parametrize(
    ("data", "arguments"),
    [
        ([(1, "a"), (2, "b"), (3, "c")], (["k", "n"],)),
        ([(1, "a"), (2, "b"), (3, "c")], (KEYED,)),
        ([(1, "a"), (2, "b"), (3, "c")], (KEYED, None, False)),
        ([(1, "a")] * 3, (ROW,)),
        ([Row(k=1, n="a")] * 3, ()),
        ([{"k": 1, "n": datetime.date(2020, 1, 1)}] * 3, ()),
        ([(1, [{"x": Row(y=1)}], ("z", {"u": [2.5]}))] * 3, (["k", "n", "m"],)),
        ([(number, *ALL_TYPES) for number in range(3)], (TYPES,)),
        ([1, 2, 3], ("int",)),
        ([1, 2, 3], ("int", None, False)),
    ],
    ids=[
        "names",
        "schema",
        "unverified",
        "struct",
        "rows",
        "dictionaries",
        "nested",
        "types",
        "numbers",
        "unverified2",
    ],
)
def test_rows_of_a_parallelized_collection_are_counted(
    spark: SparkSession, around: DataFrame, data: list[Any], arguments: tuple[Any, ...]
) -> None:
    parallelized = spark.sparkContext.parallelize(data, 2)
    local = spark.createDataFrame(parallelized, *arguments)
    assert rows(around, local.withColumnRenamed("value", "k")) == (3, 3, "exact")
    assert local.count() == 3


def test_rows_of_to_df_are_counted(spark: SparkSession, around: DataFrame) -> None:
    few = spark.sparkContext.parallelize([(1, "a")] * 3)
    for local in (few.toDF(["k", "n"]), few.toDF(KEYED), few.toDF(KEYED).cache(), few.cache().toDF(KEYED)):
        assert rows(around, local) == (3, 3, "exact")
        local.unpersist()
    few.unpersist()


def named_like_pyspark(row: Any) -> Any:
    return row


named_like_pyspark.__name__ = "<lambda>"
named_like_pyspark.__qualname__ = "RDD._reserialize.<locals>.<lambda>"
named_like_pyspark.__module__ = "pyspark.core.rdd"


class Twice(BatchedSerializer):
    """A user-defined serializer that makes two rows of one."""

    def load_stream(self, stream: Any) -> Any:
        for row in super().load_stream(stream):
            yield row
            yield row


def test_functions_of_others_are_not_counted(spark: SparkSession, around: DataFrame) -> None:
    few = spark.sparkContext.parallelize([(1, "a")] * 3)
    twice = spark.sparkContext.parallelize([(1, "a")] * 3)
    twice._jrdd_deserializer = Twice(CPickleSerializer())
    for changed in (
        few.map(lambda row: row),
        few.map(named_like_pyspark),
        # a user's function inside a function of pyspark
        few.mapValues(lambda value: value),
        # pickled by name, from a module of Python or pyspark
        few.map(tuple),
        few.map(operator.itemgetter(0, 1)),
        few.map(functools.partial(named_like_pyspark)),
        # functions of pyspark that return more or fewer rows
        few.distinct(),
        few.flatMap(iter),
        few.mapPartitions(iter),
        few.glom().flatMap(list),
        few.sample(False, 0.5),
        few.repartition(3),
        few.map(lambda row: row).cache(),
        spark.sparkContext.parallelize(["a"] * 3).zipWithIndex(),
        twice,
    ):
        assert rows(around, spark.createDataFrame(changed, KEYED)) == (1_000_000, None, "assumed")
    numbers = spark.createDataFrame(spark.sparkContext.parallelize(range(3)), "int").toDF("k")
    assert rows(around, numbers) == (1_000_000, None, "assumed")


def test_checkpoints_and_lines_of_json_are_not_counted(spark: SparkSession, around: DataFrame) -> None:
    local = spark.createDataFrame([(1, "a")] * 3, KEYED)
    # one line, two rows
    lines = spark.sparkContext.parallelize(['[{"k": 1}, {"k": 2}]'])
    for unknown in (
        local.localCheckpoint(),
        local.filter("k > 1").localCheckpoint(eager=False),
        spark.read.json(lines, schema="k int"),
    ):
        assert rows(around, unknown) == (1_000_000, None, "assumed")


def test_planning_runs_no_job_and_no_function(spark: SparkSession, around: DataFrame, tmp_path: Path) -> None:
    class Loud:
        """Creates a file when it is unpickled."""

        def __init__(self, number: int) -> None:
            self.number = number

        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "made",)

    context = spark.sparkContext
    local = spark.createDataFrame(context.parallelize([(1, Loud(1))] * 3), KEYED, verifySchema=False)
    query = around.join(local, "k")
    context.setJobGroup("planned", "planning")
    try:
        (group,) = dovetail.explain(query).to_dict()["groups"]
        assert not list(context.statusTracker().getJobIdsForGroup("planned"))
    finally:
        context._jsc.clearJobGroup()
    assert [r["rows"]["value"] for r in group["relations"] if r["name"] not in ("lf", "ls")] == [3]
    assert not (tmp_path / "made").exists()


def test_large_values_are_not_broadcast_for_their_few_rows(spark: SparkSession) -> None:
    """Pickle writes a string that all rows share only once, so the rows are larger than the pickled collection."""
    shared = "y" * 200_000
    local = spark.createDataFrame([(number, shared) for number in range(1000)], KEYED)
    many, others = spark.range(20_000_000).toDF("k"), spark.range(20_000_000).toDF("k2")
    query = many.join(local, "k").join(others, many.k == others.k2).select("k", "n")
    (group,) = dovetail.explain(query).to_dict()["groups"]
    assert {r["name"]: r["rows"]["value"] for r in group["relations"]}["logical_rdd"] == 1000
    joins = (group["after"] or group["before"])["joins"]
    assert not [join["method"] for join in joins if join["method"].startswith("broadcast")]


def test_rows_that_a_worker_converts_may_fail_and_those_of_a_list_do_not(spark: SparkSession) -> None:
    """Pyspark verifies a list on the driver, but not the digits of its decimals."""
    pairs = [(1, "a"), (2, "b")]
    rdd = spark.sparkContext.parallelize(pairs, 2)
    price = [(decimal.Decimal("1.5"),)]

    jvm: Any = spark._jvm

    def fault(frame: Any) -> str:
        leaf = frame._jdf.queryExecution().analyzed().collectLeaves().head()
        return str(jvm.org.apache.spark.sql.dovetail.leaf.FailingScan.apply(leaf).toString())

    assert fault(spark.createDataFrame(pairs, KEYED)) == "None"
    for frame in (spark.createDataFrame(price, "c decimal(5,2)"), spark.createDataFrame(rdd, KEYED)):
        assert fault(frame) == "Some(the conversion of its rows)"
