"""Join graphs of given shape and size as SQL, over small generated tables with statistics: input of `planning`.

Each relation is one of a few tables under an alias of its own, every other one with a filter, so that sizes differ. The
tables have enough columns that no two joins of a graph share one: equalities then imply no further ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

DATABASE = "shapes"

# Distinct tables; larger graphs use each several times.
TABLES = 20

# Rows of the smallest table; the others grow by as many each, so that no two are alike.
ROWS = 100

# Columns for join keys: r0 is the largest star's centre, the others are at most in a clique.
CENTRE_KEYS = 100
KEYS = 12

# Values of the filtered column, and the filter's bound.
VALUES = 10
BOUND = 4


@dataclass(frozen=True)
class Shape:
    """A join graph.

    Attributes:
        name: "clique", "star", ...
        relations: Number of relations.
        limit_ms: The target for Dovetail's rule, None where there is none.
        spark_search: How Spark's own search fares: "quick", "slow" (minutes) or "never" (would not end).
    """

    name: str
    relations: int
    limit_ms: float | None
    spark_search: str

    def sql(self) -> str:
        """The query: a count, so that nothing but the joins has to be planned."""
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
    """A chain in its text, a clique by transitivity: all on one column."""
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
        # Keys of falling distinctness: k0 is unique, the others repeat more and more.
        columns = CENTRE_KEYS if number == 0 else KEYS
        keys = ", ".join(f"CAST(id % {max(rows // (i + 1), 1)} AS INT) AS k{i}" for i in range(columns))
        table = f"{DATABASE}.r{number}"
        spark.sql(f"CREATE TABLE {table} USING parquet AS SELECT {keys}, id % {VALUES} AS v FROM range({rows})")
        spark.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS")
