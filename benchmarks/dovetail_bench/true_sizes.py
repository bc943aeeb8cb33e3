"""True sizes of all sub-plans of join queries, and the best order by them: makes query files for `real_data`.

    python -m dovetail_bench.true_sizes --tables DIR --queries FILE

FILE is a JSON list of {"name", "sql"}. This command adds what `query_file` describes, in place or into --output. DuckDB
counts every connected sub-plan of every query, which takes long if a sub-plan has billions of rows.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.errors import DovetailError
from dovetail_bench.join_order import Order, best_and_worst
from dovetail_bench.join_query import JoinQuery, Relations
from dovetail_bench.progress import say
from dovetail_bench.query_file import RealQuery, key, read
from dovetail_bench.tables import find, views

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class TrueSizes:
    """Counter of the rows of sub-plans."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection

    def count(self, query: JoinQuery, relations: Relations, extra: Sequence[str] = ()) -> int:
        """Rows of the join of these relations."""
        counted = self._connection.execute(query.sql(relations, "count(*)", extra).replace("`", '"')).fetchone()
        return int(counted[0]) if counted else 0

    def of_order(self, query: RealQuery, order: Order) -> float:
        """Rows out of the topmost join of an order, or of its only relation.

        The predicates of a query file connect most of the sets that an optimizer joins. For other sets: a cross product
        has as many rows as the product of its sides, and a join by implied equalities (a = c by a = b AND b = c) is
        counted.
        """
        known = query.sizes.get(order.relations)
        if known is not None:
            return known
        if order.crossed and order.inputs is not None:
            left, right = order.inputs
            return self.of_order(query, left) * self.of_order(query, right)
        parts = query.join.components(order.relations, implied=True)
        return math.prod(self._implied(query.join, part) for part in parts)

    def _implied(self, query: JoinQuery, relations: Relations) -> int:
        equalities = [f"{a}.{x} = {b}.{y}" for (a, x), (b, y) in query.implied_equalities(relations)]
        return self.count(query, relations, equalities)


def complete(query: RealQuery, truth: TrueSizes) -> dict[str, Any]:
    """The complete entry of a query in a query file."""
    sizes = {relations: truth.count(query.join, relations) for relations in query.join.connected_sets()}
    best, worst = best_and_worst(sizes)
    return {
        "name": query.name,
        "n": len(query.join.tables),
        "sql": query.sql,
        "true": sizes[query.join.relations],
        "cout_best": best,
        "cout_worst_connected": worst,
        "subplans": {key(relations): rows for relations, rows in sizes.items()},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.true_sizes", description=head)
    parser.add_argument("--tables", type=Path, required=True, metavar="DIR", help="folder of Parquet tables")
    parser.add_argument("--queries", type=Path, required=True, metavar="FILE", help="JSON list of name and sql")
    parser.add_argument("--output", type=Path, default=None, metavar="FILE", help="where to write (over --queries)")
    options = parser.parse_args(arguments)
    try:
        tables = find(options.tables)
        queries = read(options.queries, tables)
        entries = []
        with views(tables) as connection:
            truth = TrueSizes(connection)
            for number, query in enumerate(queries):
                entries.append(complete(query, truth))
                say(f"{number + 1}/{len(queries)} {query.name}: {len(entries[-1]['subplans'])} sub-plans")
    except DovetailError as error:
        print(error, file=sys.stderr)
        return 2
    (options.output or options.queries).write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
