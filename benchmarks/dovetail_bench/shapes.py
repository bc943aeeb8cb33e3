"""Join graphs of a given shape and size as SQL, over small generated tables with statistics: the input of `planning`.

Each relation is one of a few tables under a separate alias. Every other relation has a filter, so that sizes differ.
The tables have so many columns that no two joins of a graph share one, so that equalities imply no further ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

DATABASE = "shapes"

# Number of distinct tables; larger graphs use each of them several times.
TABLES = 20

# Rows of the smallest table. Each further table has this many rows more, so that no two are alike.
ROWS = 100

# Number of join key columns. r0 is the center of the largest star; the other tables are at most part of a clique.
CENTRE_KEYS = 100
KEYS = 12

# Number of values of the filtered column, and the bound of the filter.
VALUES = 10
BOUND = 4


@dataclass(frozen=True)
class Shape:
    """A join graph.

    Attributes:
        name: "clique", "star", ...
        relations: Number of relations.
        limit_ms: Target for Dovetail's rule in milliseconds; None without a target.
        spark_search: How long Spark's own search takes: "quick", "slow" (minutes) or "never" (it would not end).
    """

    name: str
    relations: int
    limit_ms: float | None
    spark_search: str

    def sql(self) -> str:
        """The query: a count, so that only the joins must be planned."""
        names = [f"t{i}" for i in range(self.relations)]
        tables = ", ".join(f"{DATABASE}.r{i % TABLES} {name}" for i, name in enumerate(names))
        filters = [f"{name}.v < {BOUND}" for name in names[1::2]]
        return f"SELECT count(*) FROM {tables} WHERE {' AND '.join([*EDGES[self.name](self.relations), *filters])}"


def _chain(relations: int) -> list[str]:
    return [f"t{i}.k1 = t{i + 1}.k0" for i in range(relations - 1)]


def _cycle(relations: int) -> list[str]:
    return [*_chain(relations), f"t{relations - 1}.k1 = t0.k0"]


def _star(relations: int) -> list[str]:
    return [f"t0.k{i} = t{i}.k0" for i in range(1, relations)]


def _clique(relations: int) -> list[str]:
    return [f"t{i}.k{j} = t{j}.k{i}" for i in range(relations) for j in range(i + 1, relations)]


def _implied_clique(relations: int) -> list[str]:
    """A chain as it is written, a clique by transitivity: all equalities are on one column."""
    return [f"t{i}.k0 = t{i + 1}.k0" for i in range(relations - 1)]


EDGES: Mapping[str, Callable[[int], list[str]]] = {
    "chain": _chain,
    "cycle": _cycle,
    "star": _star,
    "clique": _clique,
    "implied clique": _implied_clique,
}

SHAPES = (
    Shape("clique", 8, None, "quick"),
    Shape("clique", 12, 150.0, "slow"),
    Shape("implied clique", 12, None, "slow"),
    Shape("star", 10, None, "quick"),
    Shape("star", 16, 150.0, "slow"),
    Shape("chain", 18, 150.0, "quick"),
    Shape("cycle", 18, None, "quick"),
    Shape("chain", 100, 2000.0, "never"),
    Shape("star", 100, 2000.0, "never"),
)


def create_tables(spark: SparkSession) -> None:
    """Writes and analyzes the tables."""
    spark.sql(f"CREATE DATABASE {DATABASE}")
    for number in range(TABLES):
        rows = ROWS * (number + 1)
        # Keys are less and less distinct: k0 is unique, and the others repeat more and more.
        columns = CENTRE_KEYS if number == 0 else KEYS
        keys = ", ".join(f"CAST(id % {max(rows // (i + 1), 1)} AS INT) AS k{i}" for i in range(columns))
        table = f"{DATABASE}.r{number}"
        spark.sql(f"CREATE TABLE {table} USING parquet AS SELECT {keys}, id % {VALUES} AS v FROM range({rows})")
        spark.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS")
