"""Statistics that are wrong on purpose: with them any join order may look best, so many are tried on tiny data."""

from __future__ import annotations

import random
from typing import Any

from pyspark.sql import SparkSession

# The rows that a table is said to have, at most.
MOST_ROWS = 10_000

# Bytes that a row is said to have: with all rows it is below the threshold of broadcasts.
ROW_BYTES = 50


def tell(spark: SparkSession, table: str, chance: random.Random) -> None:
    """Writes a row count drawn by chance, small ones as often as large ones, into the catalog."""
    jvm: Any = spark._jvm
    scala, catalyst = jvm.scala, jvm.org.apache.spark.sql.catalyst
    rows = int(MOST_ROWS ** chance.random())
    size, count = (scala.math.BigInt.apply(number) for number in (rows * ROW_BYTES, rows))
    statistics = catalyst.catalog.CatalogStatistics(size, scala.Option.apply(count), scala.Predef.Map().empty())
    state = spark._jsparkSession.sessionState()
    name = state.sqlParser().parseTableIdentifier(table)
    state.catalog().alterTableStats(name, scala.Option.apply(statistics))
