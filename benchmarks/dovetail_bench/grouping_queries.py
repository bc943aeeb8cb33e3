"""Queries of `fuzz` that group the output of joins: all functions, keys of any input, grouping sets.

Both engines read them alike. Sums are only over integers and decimals, because sums of floating-point numbers depend on
the order of additions. Averages are only over integers, because averages of decimals have other types in DuckDB.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_bench.random_queries import Input, RandomQuery

# Columns to group by. Floating-point columns are not among them, because they have several zeros.
KEYS = ("k", "g", "s", "d", "v", "f")

# Functions of a column `c` of one input.
FUNCTIONS = ("sum({c})", "count({c})", "min({c})", "max({c})", "avg({c})", "count(DISTINCT {c})", "count(*)")
SUMMED = ("k", "v", "f")
AVERAGED = ("k", "v")

# Functions of two inputs: such a grouping cannot be computed below their join.
OF_TWO = ("sum({a} + {b})", "max({a} * {b})", "count({a} = {b})")

SETS = ("ROLLUP ({})", "CUBE ({})")


class GroupingQuery(RandomQuery):
    """Generator of one query."""

    def _output(self, visible: Sequence[Input]) -> tuple[str, str]:
        keys = list(dict.fromkeys(self._key(visible) for _ in range(self._random.randint(0, 3))))
        one = self._pick(visible)
        functions = [
            self._function(one if self._chance(0.7) else self._pick(visible), visible)
            for _ in range(self._random.choice((0, 1, 1, 2, 2, 3)))
        ]
        if not keys and not functions:
            functions = ["count(*)"]
        named = [f"{e} AS c{i}" for i, e in enumerate([*keys, *functions])]
        if not keys:
            return ", ".join(named), ""
        groups = ", ".join(keys)
        if len(keys) > 1 and self._chance(0.25):
            groups = self._one(*SETS, f"GROUPING SETS (({keys[0]}), ({groups}), ())").format(groups)
            # for an input without rows, DuckDB returns a total and Spark does not
            return ", ".join(named), f" GROUP BY {groups} HAVING count(*) > {self._one(0, 0, 1)}"
        some = f" HAVING {functions[0]} IS NOT NULL" if functions else ""
        having = self._one("", "", "", " HAVING count(*) > 1", some)
        return ", ".join(named), f" GROUP BY {groups}{having}"

    def _key(self, visible: Sequence[Input]) -> str:
        a = self._pick(visible)
        column = f"{a.alias}.{self._pick([c for c in a.columns if c in KEYS])}"
        if column.endswith((".k", ".v", ".g")):
            return self._one(column, column, column, f"{column} + 1", f"coalesce({column}, -1)")
        return column

    def _function(self, a: Input, visible: Sequence[Input]) -> str:
        if self._chance(0.1):
            b = self._pick(visible)
            return self._one(*OF_TWO).format(a=a.column("v"), b=b.column("k"))
        function = self._one(*FUNCTIONS)
        columns = SUMMED if function.startswith("sum") else AVERAGED if function.startswith("avg") else KEYS
        column = a.column(self._one(*columns))
        if function.startswith("sum") and self._chance(0.2):
            return function.format(c=f"coalesce({column}, 1)")
        return function.format(c=column)
