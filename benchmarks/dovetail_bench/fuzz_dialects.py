"""Dialects of `fuzz`: tables, queries, the settings they run under, and patterns that tell kinds of queries apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dovetail_bench.grouping_queries import GroupingQuery
from dovetail_bench.random_queries import RandomQuery
from dovetail_bench.random_tables import RandomTables
from dovetail_bench.spark_queries import SparkQuery
from dovetail_bench.spark_tables import SparkTables

# Largest share of queries that need not run on both engines.
MOST_UNCOMPARED = 0.02

# The same for Spark's dialect, whose expressions are made to fail.
MOST_FAILED = 0.5

# Settings of how joins are ordered and executed. Usual values are listed more often, and are drawn more often.
SETTINGS = {
    "spark.sql.adaptive.enabled": ("true", "false", "false"),
    "spark.sql.shuffle.partitions": ("1", "1", "2"),
    "spark.sql.autoBroadcastJoinThreshold": ("10485760", "10485760", "-1"),
    "spark.sql.cbo.enabled": (*("false",) * 7, "true"),
    "spark.dovetail.cost.model": ("physical", "physical", "cardWeight"),
    "spark.dovetail.reorder.exactPairs": ("300000", "300000", "0"),
    "spark.dovetail.reorder.minGain": ("0",),
    "spark.dovetail.reducers.always": ("true", "true", "false"),
}

# Settings for Spark's dialect: further ones, and other frequencies.
SPARK_SETTINGS = {
    **SETTINGS,
    "spark.sql.ansi.enabled": ("true", "true", "true", "false"),
    "spark.sql.crossJoin.enabled": ("true", "true", "false"),
    "spark.sql.adaptive.enabled": ("true", "false", "false", "false"),
    "spark.sql.shuffle.partitions": ("1", "1", "1", "2"),
    "spark.sql.join.preferSortMergeJoin": ("true", "true", "false"),
    "spark.sql.bucketing.coalesceBucketsInJoin.enabled": ("false", "false", "true"),
}

# Settings for groupings: further ones.
GROUPING_SETTINGS = {
    **SETTINGS,
    "spark.dovetail.grouping.always": ("true", "true", "true", "false"),
}

# Patterns in the text of a query, by which the report tells kinds of queries apart.
FEATURES = {
    "LEFT, RIGHT or FULL JOIN": r"(LEFT|RIGHT|FULL) JOIN",
    "FULL JOIN": r"FULL JOIN",
    "SEMI or ANTI JOIN": r"(SEMI|ANTI) JOIN",
    "EXISTS, IN or their negations": r"EXISTS|IN \(SELECT",
    "CROSS JOIN": r"CROSS JOIN",
    "null-safe equality": r"<=>",
    "a derived table or a common table expression": r"(FROM|JOIN|,) \(SELECT|^WITH",
}

# Patterns for Spark's dialect: further ones.
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

# Patterns for groupings: further ones.
GROUPING_FEATURES = {
    **FEATURES,
    "GROUP BY": r"GROUP BY",
    "ROLLUP, CUBE or GROUPING SETS": r"ROLLUP|CUBE|SETS",
    "sum": r"sum\(",
    "avg": r"avg\(",
    "DISTINCT": r"DISTINCT",
    "HAVING": r"HAVING",
}


@dataclass(frozen=True)
class Dialect:
    """A kind of queries, and how to make and run them.

    Attributes:
        tables: Makes a data set from its number and the seed.
        text: Makes a query from random numbers.
        settings: Setting → values, from which each batch draws one.
        features: Kind of queries in the report → pattern in the text of a query.
        duckdb: Whether DuckDB reads the texts.
        most_uncompared: Largest share of queries that need not be comparable.
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
    "groupings": Dialect(
        RandomTables, lambda c: GroupingQuery(c).text(), GROUPING_SETTINGS, GROUPING_FEATURES, True, MOST_UNCOMPARED
    ),
    "spark": Dialect(SparkTables, lambda c: SparkQuery(c).text(), SPARK_SETTINGS, SPARK_FEATURES, False, MOST_FAILED),
}
