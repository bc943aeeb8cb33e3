"""Queries of `fuzz`, as texts that Spark and DuckDB read alike: joins of all kinds over `random_tables`.

They have no LIMIT and no ORDER BY: every query has one answer, which is a multiset of rows. `duckdb_text` translates
what differs between the dialects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dovetail_bench.random_joins import RandomJoins
from dovetail_bench.random_tables import COLUMNS, SIZES

# Kinds of joins, each repeated as often as it is likely.
KINDS = (
    *("JOIN",) * 9,
    *("LEFT JOIN",) * 5,
    *("RIGHT JOIN",) * 3,
    *("FULL JOIN",) * 2,
    *("LEFT SEMI JOIN",) * 2,
    *("LEFT ANTI JOIN",) * 2,
    "CROSS JOIN",
)

FEWEST, MOST = 3, 7

# Largest number of relations of a query that multiplies rows: its answer must stay small.
MOST_WIDE = 5

NUMBERS = ("k", "g", "v")


@dataclass(frozen=True)
class Input:
    """A relation in a FROM clause.

    Attributes:
        sql: Text of the relation, with its alias.
        alias: Alias that qualifies its columns.
        columns: Columns that it has.
    """

    sql: str
    alias: str
    columns: tuple[str, ...]

    def column(self, name: str) -> str:
        """The column or, if this relation does not have it, the number `k`."""
        return f"{self.alias}.{name if name in self.columns else 'k'}"


def duckdb_text(text: str) -> str:
    """A generated text in DuckDB's dialect: semi joins have no LEFT, and null-safe equality has another name."""
    return (
        text.replace(" <=> ", " IS NOT DISTINCT FROM ")
        .replace("LEFT SEMI JOIN", "SEMI JOIN")
        .replace("LEFT ANTI JOIN", "ANTI JOIN")
    )


class RandomQuery(RandomJoins[Input]):
    """Generator of one query."""

    KINDS = KINDS
    CHAIN = 0.75

    def text(self) -> str:
        """Text of the query."""
        size = self._random.randint(FEWEST, MOST)
        self._wide = 0 if size <= MOST_WIDE else 1
        if self._chance(0.05):
            half = max(FEWEST, size // 2)
            counts = [f"SELECT count(*) FROM ({self._select(n)}) a{n}" for n in (half, FEWEST)]
            return " UNION ALL ".join(counts)
        if self._chance(0.05):
            return self._twice()
        return self._select(size)

    def _select(self, size: int) -> str:
        source, visible, where = self._commas(size) if self._chance(0.3) else (*self._joins(size), [])
        where = [*where, *(self._predicate(visible) for _ in range(self._random.choice((0, 0, 1, 1, 1, 2))))]
        columns, tail = self._output(visible)
        return f"SELECT {columns} FROM {source}{' WHERE ' + ' AND '.join(where) if where else ''}{tail}"

    def _twice(self) -> str:
        """A common table expression, joined with itself."""
        a, b, c, d = (self._base() for _ in range(4))
        body = (
            f"SELECT {a.column('k')}, {b.column('g')}, {c.column('s')}, count(*) AS v FROM {a.sql} "
            f"JOIN {b.sql} ON {self._equality([a], [b])} {self._one('JOIN', 'LEFT JOIN')} {c.sql} "
            f"ON {self._equality([a, b], [c])} GROUP BY 1, 2, 3"
        )
        return (
            f"WITH c AS ({body}) SELECT p.k, p.v, q.s FROM c p {self._one('JOIN', 'LEFT JOIN')} c q ON p.k = q.k "
            f"JOIN {d.sql} ON {d.alias}.k = q.k WHERE p.v <= q.v"
        )

    # FROM

    def _table(self) -> str:
        """A table. Small ones are drawn less often, because an empty input empties most answers."""
        return self._random.choices(tuple(SIZES), weights=(9, 9, 9, 9, 9, 3, 1))[0]

    def _base(self) -> Input:
        alias = self._alias()
        return Input(f"{self._table()} {alias}", alias, tuple(COLUMNS))

    def _input(self) -> Input:
        """A table or a derived table."""
        alias, roll = self._alias(), self._random.randrange(20)
        table = self._table()
        derived = {
            0: (f"SELECT k, g, count(*) AS v FROM {table} GROUP BY k, g", ("k", "g", "v")),
            1: (f"SELECT k, max(s) AS s, sum(v) AS v FROM {table} WHERE v IS NOT NULL GROUP BY k", ("k", "s", "v")),
            2: (f"SELECT DISTINCT k, s FROM {table}", ("k", "s")),
            3: (f"SELECT k, v, s FROM {table} UNION ALL SELECT k + 1, v, s FROM {self._table()}", ("k", "v", "s")),
            4: (f"SELECT k + 1 AS k, v, CASE WHEN g IS NULL THEN 0 ELSE g END AS g FROM {table}", ("k", "v", "g")),
            5: (f"SELECT coalesce(k, v) AS k, g, 7 AS v, s FROM {table}", ("k", "g", "v", "s")),
        }
        if roll in derived:
            return Input(f"({derived[roll][0]}) {alias}", alias, derived[roll][1])
        if roll == 6:
            left, right = self._base(), self._base()
            kind = self._one("JOIN", "LEFT JOIN", "FULL JOIN")
            columns = f"{left.column('k')}, coalesce({left.column('g')}, {right.column('g')}) AS g, {right.column('v')}"
            body = f"SELECT {columns} FROM {left.sql} {kind} {right.sql} ON {self._equality([left], [right])}"
            return Input(f"({body}) {alias}", alias, ("k", "g", "v"))
        return Input(f"{table} {alias}", alias, tuple(COLUMNS))

    # Join conditions

    def _condition(self, left: Sequence[Input], right: Sequence[Input]) -> str:
        a, b = self._pick(left), self._pick(right)
        roll = self._random.randrange(24)
        if roll == 0 and self._widen():
            main = f"{a.column('v')} {self._one('<', '>=', '<>')} {b.column('v')}"
        elif roll == 1 and self._widen():
            main = f"{b.column('v')} BETWEEN {a.column('k')} - 1 AND {a.column('k')} + 1"
        elif roll == 2 and self._widen():
            main = f"({self._equality(left, right)} OR {self._equality(left, right)})"
        elif roll in (3, 4):
            main = f"{a.column('k')} <=> {b.column('k')}"
        elif roll in (5, 6) and len(left) > 1:
            other, third = self._random.sample(list(left), 2)
            main = self._one(
                f"{other.column('k')} + {third.column('v')} = {b.column('v')}",
                f"coalesce({other.column('k')}, {third.column('k')}) = {b.column('k')}",
                f"{self._equality(left, right)} AND {other.column('v')} + {b.column('k')} > {third.column('v')}",
            )
        elif roll in (7, 8, 9):
            compared = self._one("=", "=", "<", "<=>")
            main = f"{a.column('k')} = {b.column('k')} AND {a.column('v')} {compared} {b.column('v')}"
        elif roll == 10:
            main = f"coalesce({b.column('k')}, 0) = {a.column('k')}"
        elif roll in (11, 12):
            main = f"{self._equality(left, right)} AND {self._equality(left, right)}"
        elif roll == 13:
            main = f"{a.column('k')} = {b.column('k')} AND ({self._filter(a)} OR {self._filter(b)})"
        else:
            main = self._equality(left, right)
        return f"{main} AND {self._filter(self._one(a, b))}" if self._chance(0.2) else main

    def _equality(self, left: Sequence[Input], right: Sequence[Input]) -> str:
        """An equality, mostly on the column on which many other joins are."""
        a, b = self._pick(left), self._pick(right)
        shared = [column for column in a.columns if column in b.columns]
        if self._chance(0.1):
            return f"{a.column('k')} = {b.column('g')}"
        column = "k" if self._chance(0.6) or not shared else self._pick(shared)
        return f"{a.column(column)} = {b.column(column)}"

    # WHERE

    def _filter(self, i: Input) -> str:
        """A predicate on one relation; half of them reject NULLs."""
        choices = [
            f"{i.column('v')} < {self._random.randint(2, 7)}",
            f"{i.column('k')} IN (1, 2, {self._random.randrange(5)})",
            f"{i.column(self._pick(NUMBERS))} IS NOT NULL",
            f"{i.column(self._pick(NUMBERS))} IS NULL",
            f"NOT ({i.column('v')} = 3 OR {i.column('k')} = 2)",
            f"coalesce({i.column('v')}, 4) > {self._random.randint(0, 3)}",
            f"{i.column('v')} BETWEEN 1 AND {self._random.randint(3, 7)}",
            f"({i.column('k')} = 1 OR {i.column('v')} IS NULL)",
        ]
        if "s" in i.columns:
            choices.append(f"{i.alias}.s {self._one('''LIKE 'a%' ''', '''<> 'b' ''', '''IN ('a', 'c')''', 'IS NULL')}")
        if "d" in i.columns:
            choices.append(f"{i.alias}.d {self._one('>=', '<')} DATE '2020-01-02'")
            choices.append(f"{i.alias}.x {self._one('>= 0.0', '= 0.0', '< 1.0')}")
        return self._pick(choices).strip()

    def _predicate(self, visible: Sequence[Input]) -> str:
        a, b, c, z = self._pick(visible), self._pick(visible), self._pick(visible), self._base()
        no = self._one("", "NOT ")
        roll = self._random.randrange(18)
        if roll == 0:
            return f"({self._filter(a)} OR {self._filter(b)})"
        if roll == 1:
            return f"(({self._filter(a)} AND {self._filter(b)}) OR ({self._filter(a)} AND {self._filter(b)}))"
        if roll in (2, 3):
            more = self._one("", f" AND {self._filter(z)}", f" AND {z.column('v')} < {a.column('v')}")
            return f"{no}EXISTS (SELECT 1 FROM {z.sql} WHERE {z.column('k')} = {a.column('k')}{more})"
        if roll == 4:
            y, w = self._base(), self._base()
            joined = f"{z.sql} JOIN {y.sql} ON {self._equality([z], [y])} JOIN {w.sql} ON {self._equality([z, y], [w])}"
            return f"{no}EXISTS (SELECT 1 FROM {joined} WHERE {w.column('k')} = {a.column('k')})"
        if roll == 5:
            return f"{a.column('k')} IN (SELECT {z.column('k')} FROM {z.sql} WHERE {self._filter(z)})"
        if roll == 6:
            known = self._one(f"{z.column('k')} IS NOT NULL AND ", "")
            return f"{a.column('k')} NOT IN (SELECT {z.column('k')} FROM {z.sql} WHERE {known}{self._filter(z)})"
        if roll == 7:
            return f"({self._filter(a)} OR {b.column('k')} IN (SELECT {z.column('v')} FROM {z.sql}))"
        if roll == 8:
            inside = f"SELECT 1 FROM {z.sql} WHERE {z.column('k')} = {b.column('k')}"
            return f"({self._filter(a)} OR {no}EXISTS ({inside}))"
        if roll == 9:
            which = self._one("", f" WHERE {z.column('k')} = {b.column('k')}")
            return f"{a.column('v')} > (SELECT avg({z.column('v')}) - 2 FROM {z.sql}{which})"
        if roll == 10:
            return f"{a.column('k')} + {b.column('v')} >= {c.column('v')}"
        if roll == 11:
            return f"coalesce({a.column('k')}, {b.column('k')}, 0) = {c.column('k')}"
        if roll == 12:
            return f"({a.column('k')} = {b.column('k')} OR {b.column('v')} = {c.column('v')})"
        if roll == 13:
            return f"{a.column('v')} {self._one('<=', '<=>', '<>')} {b.column('v')}"
        return self._filter(a)

    # SELECT

    def _output(self, visible: Sequence[Input]) -> tuple[str, str]:
        """The select list, and the clauses after WHERE."""
        chosen = [self._pick(visible) for _ in range(self._random.randint(1, 4))]
        columns = [f"{i.alias}.{self._pick(i.columns)}" for i in chosen]
        named = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns))
        a, b = self._pick(visible), self._pick(visible)
        roll = self._random.randrange(10)
        if roll < 2:
            return f"count(*), sum({a.column('v')}), max({a.column('k')}), count({b.column('g')})", ""
        if roll < 6:
            having = self._one("", "", " HAVING count(*) > 1")
            groups = ", ".join(dict.fromkeys(columns))
            return f"{named}, count(*) AS n, min({a.column('v')}) AS low", f" GROUP BY {groups}{having}"
        if roll == 6:
            return f"DISTINCT {named}", ""
        if roll == 7:
            return f"{a.column('k')} + {b.column('v')} AS e, coalesce({a.column('v')}, {b.column('v')}, -1) AS o", ""
        return named, ""
