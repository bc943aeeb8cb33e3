"""Partitions of a table: their names, and the sizes that ANALYZE TABLE ... PARTITION stored for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from dovetail import _sql
from dovetail._analyze_sql import PartitionSpec, partition_clause
from dovetail._identifiers import PartitionValue
from dovetail.statistics import PartitionStats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from dovetail._analyze_target import Table

# Each partition's size costs one DESCRIBE (some 10 ms); more of them are not what anyone reads.
PARTITIONS_SHOWN = 50

# How Hive and Spark write NULL in a partition's directory name.
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"

_SIZE = re.compile(r"(?P<bytes>\d+) bytes(?:, (?P<rows>\d+) rows)?")


def partitions_of(spark: SparkSession, table: Table, clause: str = "") -> list[str]:
    """Names of a table's partitions, such as "year=2024/month=1"; `clause`, PARTITION (...), picks a part of them."""
    return [row[0] for row in _sql.rows(spark, f"SHOW PARTITIONS {table.quoted} {clause}")]


def partition_stats(
    spark: SparkSession, table: Table, partitions: Literal["all"] | tuple[PartitionSpec, ...]
) -> tuple[PartitionStats, ...]:
    """Stored sizes of the partitions meant, at most `PARTITIONS_SHOWN` of them."""
    clauses = [""] if partitions == "all" else [partition_clause(table, spec) for spec in partitions]
    names = dict.fromkeys(name for clause in clauses for name in partitions_of(spark, table, clause))
    return tuple(_one(spark, table, name) for name in list(names)[:PARTITIONS_SHOWN])


def _one(spark: SparkSession, table: Table, name: str) -> PartitionStats:
    clause = partition_clause(table, dict(_values(name)))
    for row in _sql.rows(spark, f"DESCRIBE TABLE EXTENDED {table.quoted} {clause}"):
        match = _SIZE.match(row["data_type"] or "") if row["col_name"] == "Partition Statistics" else None
        if match:
            return PartitionStats(name, int(match["rows"]) if match["rows"] else None, int(match["bytes"]))
    return PartitionStats(name, None, None)


def _values(name: str) -> Iterator[tuple[str, PartitionValue]]:
    """Column and value of each level of a partition's name, in which special characters are written as %XX."""
    for level in name.split("/"):
        column, _, value = level.partition("=")
        yield unquote(column), None if value == NULL_PARTITION else unquote(value)
