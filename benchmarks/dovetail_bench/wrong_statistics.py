"""Statistics that are wrong on purpose: any join order may look best with them, so that many are tried on tiny data."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

from pyspark.sql import SparkSession

# Row counts that the catalog may state for a table, small ones as often as large ones.
ROWS = (1, 4, 20, 100, 1_000, 10_000)


def tell(spark: SparkSession, table: str, chance: random.Random) -> None:
    """Writes a size drawn at random into the catalog, as the size of this table."""
    state = _internals(spark).sessionState()
    state.catalog().alterTableStats(
        state.sqlParser().parseTableIdentifier(table), chance.choice(_sizes(spark.sparkContext.applicationId))
    )


@lru_cache(maxsize=1)
def _sizes(_application: str) -> tuple[Any, ...]:
    """Statistics of each row count, taken from a table with that many rows; computed once per application."""
    spark = SparkSession.active()
    found = []
    spark.sql("CREATE DATABASE wrong_statistics")
    for rows in ROWS:
        name = f"wrong_statistics.of_{rows}"
        spark.sql(f"CREATE TABLE {name} USING parquet AS SELECT /*+ COALESCE(1) */ id, id AS other FROM range({rows})")
        spark.sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS")
        state = _internals(spark).sessionState()
        found.append(state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name)).stats())
    spark.sql("DROP DATABASE wrong_statistics CASCADE")
    return tuple(found)


def _internals(spark: SparkSession) -> Any:
    return spark._jsparkSession
