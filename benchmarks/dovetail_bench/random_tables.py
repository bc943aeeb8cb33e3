"""Tables of `fuzz`: small, with NULLs in all columns, duplicates, zeros of both signs, and NaN; one has no rows.

Every data set is made twice, in DuckDB and as Parquet for Spark. Spark's statistics were collected when the tables held
other rows, up to a thousand times as many. Any join order may therefore look best, so that many are chosen. Spark keeps
three of four data sets in memory, where a query takes a third of the time; it reads the fourth from files again and
again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Rows of the tables: few enough that a join of seven stays small. One table has one row, and one has none.
SIZES = {"t0": 20, "t1": 16, "t2": 12, "t3": 20, "t4": 8, "t5": 1, "t6": 0}

COLUMNS = {
    "k": "INTEGER",
    "g": "BIGINT",
    "s": "VARCHAR",
    "d": "DATE",
    "v": "INTEGER",
    "x": "DOUBLE",
    "f": "DECIMAL(6,2)",
}

# Column → SQL expressions from which a value is drawn, and the share of NULLs.
VALUES: dict[str, tuple[tuple[str, ...], float]] = {
    "k": (("0", "1", "2", "3", "4"), 0.15),
    "g": (("0", "1", "2", "3"), 0.15),
    "s": (("''", "'a'", "'b'", "'c'", "'ab'"), 0.2),
    "d": (("DATE '2020-01-01'", "DATE '2020-01-02'", "DATE '2021-06-30'"), 0.2),
    "v": (tuple(str(v) for v in range(7)), 0.15),
    "x": (("'0'::DOUBLE", "'-0'::DOUBLE", "'1.5'::DOUBLE", "'NaN'::DOUBLE"), 0.2),
    "f": (("1.00", "2.50", "-3.25"), 0.2),
}

# File of a table, in the folder of that table.
ROWS = "rows.parquet"

# Largest number of rows that a table had when it was analyzed.
MOST_ANALYZED_ROWS = 10_000

# Ways to analyze a table, drawn at random: mostly all columns, else only the number of rows, or nothing.
ANALYZED = (*("FOR ALL COLUMNS",) * 6, "", None)


@dataclass(frozen=True)
class RandomTables:
    """A data set. Its number names a database in both engines, and everything in it follows from the seed."""

    number: int
    seed: int

    @property
    def database(self) -> str:
        """Name of the database in both engines."""
        return f"fuzz_{self.number}"

    @property
    def cached(self) -> bool:
        """Whether Spark keeps the tables in memory."""
        return self.number % 4 != 0

    def create(self, spark: SparkSession, duckdb: DuckDBPyConnection, directory: Path) -> None:
        """Makes the tables in both engines."""
        chance = seeded(f"tables {self.seed} {self.number}")
        duckdb.execute(f"CREATE SCHEMA {self.database}")
        spark.sql(f"CREATE DATABASE {self.database}")
        for table, rows in SIZES.items():
            name = f"{self.database}.{table}"
            columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items())
            duckdb.execute(f"CREATE TABLE {name} ({columns})")
            if rows:
                duckdb.execute(f"INSERT INTO {name} VALUES {', '.join(_row(chance) for _ in range(rows))}")
            self._spark_table(spark, duckdb, directory / self.database / table, name, chance)
            if self.cached:
                spark.sql(f"CACHE TABLE {name}")

    def _spark_table(
        self, spark: SparkSession, duckdb: DuckDBPyConnection, folder: Path, name: str, chance: random.Random
    ) -> None:
        folder.mkdir(parents=True)
        file = (folder / ROWS).as_posix()
        analyzed = chance.choice(ANALYZED)
        if analyzed is not None:
            duckdb.execute(f"COPY ({_other_rows(chance)}) TO '{file}' (FORMAT parquet)")
        else:
            duckdb.execute(f"COPY {name} TO '{file}' (FORMAT parquet)")
        spark.sql(f"CREATE TABLE {name} USING parquet LOCATION '{folder.as_posix()}'")
        if analyzed is not None:
            spark.sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS {analyzed}")
            duckdb.execute(f"COPY {name} TO '{file}' (FORMAT parquet)")
            spark.sql(f"REFRESH TABLE {name}")


def seeded(text: str) -> random.Random:
    """Random numbers that are the same for the same text, on every machine."""
    return random.Random(text)  # noqa: S311 (nothing secret)


def _row(chance: random.Random) -> str:
    values = ("NULL" if chance.random() < nulls else chance.choice(values) for values, nulls in VALUES.values())
    return f"({', '.join(values)})"


def _other_rows(chance: random.Random) -> str:
    """Query for rows of the same types. The number of rows and the numbers of distinct values are random."""
    rows = int(MOST_ANALYZED_ROWS ** chance.random())

    def column(kind: str) -> str:
        distinct = max(1, int(rows ** chance.random()))
        number = f"((range * 7919) % {distinct})"
        value = {
            "INTEGER": f"{number}::INTEGER",
            "BIGINT": f"{number}::BIGINT",
            "VARCHAR": f"concat('a', {number})",
            "DATE": f"DATE '2020-01-01' + {number}::INTEGER",
            "DOUBLE": f"{number}::DOUBLE",
            "DECIMAL(6,2)": f"({number} % 1000)::DECIMAL(6,2)",
        }[kind]
        return f"CASE WHEN (range * 31) % 100 < {chance.choice((0, 0, 5, 50))} THEN NULL ELSE {value} END"

    columns = ", ".join(f"{column(kind)} AS {name}" for name, kind in COLUMNS.items())
    return f"SELECT {columns} FROM range({rows})"
