"""DuckDB as an engine of `real_data`: tables loaded into memory, orders and estimates from EXPLAIN (FORMAT JSON).

A plan names tables, not aliases. Every further occurrence of a table in a query therefore reads a copy of the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.demo.data import import_duckdb
from dovetail.errors import DovetailError
from dovetail_bench.join_order import Order, join, relation
from dovetail_bench.join_query import Relations
from dovetail_bench.query_file import RealQuery
from dovetail_bench.tables import files

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CROSS_PRODUCT = "CROSS_PRODUCT"


@dataclass
class DuckdbEngine:
    """A DuckDB database with the tables.

    Attributes:
        connection: Connection to the database.
        copies: Names of the copies made for further occurrences of a table in a query.
    """

    connection: DuckDBPyConnection
    copies: set[str] = field(default_factory=set)

    @property
    def version(self) -> str:
        return str(import_duckdb().__version__)

    def order(self, query: RealQuery) -> Order:
        sources = self._sources(query)
        join_query = replace(query.join, tables=sources)
        aliases = {name.strip('`"').lower(): alias for alias, name in sources.items()}
        plan = self._explain(join_query.sql(query.join.relations, "count(*)"))
        return order_of(plan, aliases, query.join.relations)

    def estimate(self, query: RealQuery, relations: Relations) -> float | None:
        node = self._explain(query.join.sql(relations))
        while "Estimated Cardinality" not in node["extra_info"]:
            node = node["children"][0]
        return float(node["extra_info"]["Estimated Cardinality"])

    def _sources(self, query: RealQuery) -> dict[str, str]:
        """Alias → a table that no other alias of the query reads."""
        sources: dict[str, str] = {}
        for alias, table in query.join.tables.items():
            number = sum(used == table for a, used in query.join.tables.items() if a in sources)
            name = table.strip('`"')
            if number:
                name = f"{name}__{number + 1}"
                if name not in self.copies:
                    self.connection.execute(f'CREATE TABLE "{name}" AS FROM {_double_quoted(table)}')
                    self.copies.add(name)
            sources[alias] = f'"{name}"'
        return sources

    def _explain(self, sql: str) -> dict[str, Any]:
        rows = self.connection.execute("EXPLAIN (FORMAT JSON) " + sql.replace("`", '"')).fetchall()
        plan: dict[str, Any] = json.loads(rows[0][1])[0]
        return plan


@contextmanager
def duckdb_engine(tables: Mapping[str, Path], work: Path) -> Iterator[DuckdbEngine]:
    """Loads the tables into a database in memory."""
    with import_duckdb().connect() as connection:
        for name, path in tables.items():
            connection.execute(f'CREATE TABLE "{name}" AS FROM {files(path)}')
        yield DuckdbEngine(connection)


def order_of(plan: Mapping[str, Any], aliases: Mapping[str, str], relations: Relations) -> Order:
    """The join order of a plan.

    Args:
        plan: The root of EXPLAIN (FORMAT JSON).
        aliases: Table name in lower case → alias; no two aliases share a table.
        relations: All aliases of the query.
    """
    found = _order(plan, aliases)
    if found is None or found.relations != relations:
        missing = relations - (found.relations if found else frozenset())
        raise DovetailError(f"DuckDB's plan has no scan of {', '.join(sorted(missing))}")
    return found


def _order(node: Mapping[str, Any], aliases: Mapping[str, str]) -> Order | None:
    """Order below a node. A join with tables on one side only is none of the query: DuckDB makes it for an IN list."""
    below = [order for child in node["children"] if (order := _order(child, aliases)) is not None]
    if len(below) == 2:
        return join(below[0], below[1], crossed=node["name"].strip() == CROSS_PRODUCT)
    if below:
        return below[0]
    alias = aliases.get(str(node["extra_info"].get("Text", "")).lower())
    return relation(alias) if alias else None


def _double_quoted(name: str) -> str:
    return '"' + name.strip('`"') + '"'
