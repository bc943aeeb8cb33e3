"""Query files: a JSON list of queries, each with the true size of every connected sub-plan.

    {"name", "n", "sql", "true", "cout_best", "cout_worst_connected", "subplans": {"a": 10, "a,b": 20, …}}

`true_sizes` completes a file that has only name and sql. Keys of `subplans` are sorted aliases joined by commas;
a single alias stands for its table after its own predicates. C_out is defined in `join_order`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail._error_text import did_you_mean
from dovetail.errors import DovetailError
from dovetail_bench.join_order import best_and_worst
from dovetail_bench.join_query import JoinQuery, Relations, parse


@dataclass(frozen=True)
class RealQuery:
    """A query of a file.

    Attributes:
        name: Name of the query.
        sql: Text of the query.
        join: The text, parsed.
        sizes: True rows of every connected sub-plan; empty if the file has none.
    """

    name: str
    sql: str
    join: JoinQuery
    sizes: Mapping[Relations, int]

    @property
    def best(self) -> float:
        """C_out of the best order without cross products."""
        return best_and_worst(self.sizes)[0]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds --tables and --queries: a folder of tables, and a query file over them."""
    parser.add_argument("--tables", type=Path, required=True, metavar="DIR", help="folder of Parquet tables")
    parser.add_argument(
        "--queries", type=Path, required=True, metavar="FILE", dest="query_file", help="query file with true sizes"
    )


def key(relations: Relations) -> str:
    """Key of a set of relations in a query file."""
    return ",".join(sorted(relations))


def read(path: Path, tables: Iterable[str]) -> list[RealQuery]:
    """Queries of a file, with or without true sizes.

    Raises:
        DovetailError: The file is no query file, or its queries read tables that do not exist.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DovetailError(f"--queries {path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise DovetailError(f"--queries {path}: no JSON ({error}).") from error
    if not isinstance(entries, list) or not entries or not all(isinstance(e, dict) for e in entries):
        raise DovetailError(f'--queries {path}: a query file is a list of {{"name": …, "sql": …}}.')
    queries = [_query(path, entry, list(tables)) for entry in entries]
    names = [query.name for query in queries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DovetailError(f"--queries {path}: more than one query is called {', '.join(twice)}.")
    return queries


def read_complete(path: Path, tables: Iterable[str]) -> list[RealQuery]:
    """Queries of a file with true sizes. Checks these against the text and against `cout_best`."""
    queries = read(path, tables)
    entries = json.loads(path.read_text(encoding="utf-8"))
    for query, entry in zip(queries, entries, strict=True):
        where = f"--queries {path}, {query.name}"
        if not query.sizes:
            raise DovetailError(
                f"{where}: no true sizes (subplans). Compute them: "
                f"python -m dovetail_bench.true_sizes --tables DIR --queries {path}"
            )
        expected = query.join.connected_sets()
        if missing := [key(s) for s in expected if s not in query.sizes]:
            raise DovetailError(f"{where}: subplans lacks {'; '.join(missing)}.")
        if unknown := [key(s) for s in query.sizes if s not in expected]:
            raise DovetailError(
                f"{where}: subplans has {'; '.join(unknown)}, which no predicates of the query connect."
            )
        if query.best != entry.get("cout_best"):
            raise DovetailError(
                f"{where}: cout_best is {entry.get('cout_best')}, but the best order by subplans has {query.best} "
                "(rows out of all joins, the last one included, bushy orders, no cross products)."
            )
    return queries


def _query(path: Path, entry: Mapping[str, Any], tables: list[str]) -> RealQuery:
    for field in ("name", "sql"):
        if not isinstance(entry.get(field), str) or not entry[field]:
            raise DovetailError(f"--queries {path}: a query without {field}; it has {', '.join(entry) or 'nothing'}.")
    where = f"--queries {path}, {entry['name']}"
    try:
        join = parse(entry["sql"])
    except DovetailError as error:
        raise DovetailError(f"{where}: {error}") from error
    for table in join.tables.values():
        if table.strip('`"') not in tables:
            raise DovetailError(f"{where}: no table {table} in the folder.{did_you_mean(table, tables)}")
    if len(join.tables) < 2:
        raise DovetailError(f"{where}: a query of one relation has no join order.")
    if len(join.components(join.relations)) > 1:
        parts = " and ".join(key(c) for c in join.components(join.relations))
        raise DovetailError(f"{where}: no predicate connects {parts}; a query with a cross product has no best order.")
    sizes = {}
    for names, rows in entry.get("subplans", {}).items():
        relations = frozenset(names.split(","))
        if unknown := sorted(relations - join.relations):
            raise DovetailError(f"{where}: subplans names {', '.join(unknown)}; aliases: {', '.join(join.tables)}.")
        if not isinstance(rows, int) or rows < 0:
            raise DovetailError(f"{where}: subplans {names!r} is {rows!r}, not a number of rows.")
        sizes[relations] = rows
    return RealQuery(entry["name"], entry["sql"], join, sizes)
