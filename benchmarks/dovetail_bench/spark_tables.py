"""Tables of `fuzz --dialect spark`: nested types, collated text, and single rows on which an expression fails.

Most tables have one or two adversarial rows, with a zero, the largest integer, or a text that is no number or no date.
The key of such a row is rare in other tables, so that many joins remove the row before plain Spark computes anything
from it. Tables are plain, partitioned, bucketed or kept in memory. The catalog has wrong statistics of most of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.version import __version__ as pyspark_version

from dovetail.jars import parse_line
from dovetail_bench import wrong_statistics
from dovetail_bench.random_tables import seeded

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Rows of the tables: few enough that a join of six stays small.
SIZES = {"w0": 14, "w1": 12, "w2": 10, "w3": 8, "w4": 6, "w5": 1, "w6": 0}

# Spark has collations since version 4.
_COLLATED = "STRING COLLATE UTF8_LCASE" if parse_line(pyspark_version) >= (4, 0) else "STRING"

COLUMNS = {
    "k": "INT",
    "g": "BIGINT",
    "v": "INT",
    "s": "STRING",
    "n": "STRING",
    "m": "INT",
    "t": "STRING",
    "d": "DATE",
    "st": "STRUCT<a: INT, b: STRING>",
    "ar": "ARRAY<INT>",
    "mp": "MAP<STRING, INT>",
    "c": _COLLATED,
    "f": "DECIMAL(6,2)",
    "p": "INT",
}

# Column → expressions from which a value is drawn, and the share of NULLs.
_VALUES: dict[str, tuple[tuple[str, ...], float]] = {
    "k": (("0", "1", "2", "3"), 0.1),
    "g": (("0", "1", "2", "3"), 0.15),
    "v": (("1", "2", "3", "4"), 0.1),
    "s": (("''", "'a'", "'b'", "'ab'"), 0.15),
    "n": (("'0'", "'1'", "'2'", "' 3 '"), 0.1),
    "m": (("1", "2", "3"), 0.1),
    "t": (("'2020-01-01'", "'2020-01-02'", "'2021-06-30'"), 0.1),
    "d": (("DATE '2020-01-01'", "DATE '2020-01-02'"), 0.15),
    "st": (
        ("named_struct('a', 1, 'b', 'x')", "named_struct('a', 2, 'b', NULL)", "named_struct('a', 1, 'b', 'y')"),
        0.1,
    ),
    "ar": (("array(1, 2, 3, 4, 5)", "array(1, 2, 3, 4, NULL)", "array(4, 3, 2, 1, 0)"), 0.1),
    "mp": (("map('a', 1)", "map('a', 2, 'b', 3)", "map('a', NULL)"), 0.1),
    "c": (("'a'", "'A'", "'b'", "'B'", "'ab'"), 0.1),
    "f": (("1.00", "2.50", "-3.25"), 0.1),
    "p": (("0", "1"), 0.1),
}

# Values of adversarial rows, on which some expression fails.
_ADVERSARIAL = {
    "v": ("0", "-1", "7"),
    "s": ("'('", "'[a'"),
    "n": ("'x'", "''", "'99999999999'", "'1.5e'"),
    "m": ("0", "2147483647", "-2147483648"),
    "t": ("'never'", "'2020-02-30'", "''"),
    "d": ("DATE '9999-12-31'", "DATE '0001-01-01'"),
    "st": ("named_struct('a', 0, 'b', '(')",),
    "ar": ("array()", "array(0)"),
    "mp": ("map()",),
    "f": ("9999.99", "0.00"),
}

# Keys of adversarial rows: mostly one that joins remove.
_ADVERSARIAL_KEYS = ("9", "9", "9", "9", "NULL", "1")

# Numbers of adversarial rows of a table.
_ADVERSARIAL_ROWS = (0, 1, 1, 2)

# Layouts of a table that is read from files.
_KINDS = (
    *("",) * 2,
    "PARTITIONED BY (p)",
    "CLUSTERED BY (k) INTO 2 BUCKETS",
    "CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS",
)

# One in this many data sets is read from files, and its tables may be partitioned and bucketed; the others are in
# memory. In a tiny query, Spark spends most of the time on sending Hadoop's configuration to each scan of a file.
_FROM_FILES = 4

_TOLD_WRONG = 0.85


@dataclass(frozen=True)
class SparkTables:
    """A data set. Its number names a database, and everything in it follows from the seed."""

    number: int
    seed: int

    @property
    def database(self) -> str:
        """Name of the database."""
        return f"fuzz_spark_{self.number}"

    def create(self, spark: SparkSession, _duckdb: DuckDBPyConnection, _directory: Path) -> None:
        """Makes the tables."""
        chance = seeded(f"spark tables {self.seed} {self.number}")
        spark.sql(f"CREATE DATABASE {self.database}")
        in_memory = self.number % _FROM_FILES > 0
        for table, rows in SIZES.items():
            name, kind = f"{self.database}.{table}", "" if in_memory else chance.choice(_KINDS)
            columns = ", ".join(f"{column} {type_}" for column, type_ in COLUMNS.items())
            spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet {kind}")
            if rows:
                values = [_row(chance) for _ in range(rows)]
                values += [_adversarial(chance) for _ in range(chance.choice(_ADVERSARIAL_ROWS) if rows > 1 else 0)]
                chance.shuffle(values)
                inserted = f"SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(values)} AS r({', '.join(COLUMNS)})"
                spark.sql(f"INSERT INTO {name} {inserted}")
            if chance.random() < _TOLD_WRONG:
                wrong_statistics.tell(spark, name, chance)
            if in_memory:
                spark.sql(f"CACHE TABLE {name}")


def _row(chance: random.Random) -> str:
    return f"({', '.join(_value(chance, column) for column in COLUMNS)})"


def _adversarial(chance: random.Random) -> str:
    """A row with an unusual key, and with one or more values on which some expression fails."""
    bad = set(chance.sample(sorted(_ADVERSARIAL), chance.randint(1, len(_ADVERSARIAL))))
    values = {c: chance.choice(_ADVERSARIAL[c]) if c in bad else _value(chance, c) for c in COLUMNS if c != "k"}
    values["k"] = chance.choice(_ADVERSARIAL_KEYS)
    return f"({', '.join(f'CAST({values[column]} AS {type_})' for column, type_ in COLUMNS.items())})"


def _value(chance: random.Random, column: str) -> str:
    values, nulls = _VALUES[column]
    value = "NULL" if chance.random() < nulls else chance.choice(values)
    return f"CAST({value} AS {COLUMNS[column]})"
