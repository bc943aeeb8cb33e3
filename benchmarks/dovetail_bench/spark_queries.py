"""Queries of `fuzz --dialect spark`: syntax that only Spark reads, and expressions that fail on some rows.

They have nested types and collated text as keys, LATERAL, USING and NATURAL joins, nested NOT IN, set operations and
windows between joins, and hints. Expressions that may fail are projections between joins, predicates and keys. There is
no LIMIT and no ORDER BY: every query has one answer, which is a multiset of rows. If plain Spark answers a query,
Dovetail must give the same answer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from dovetail_bench.random_joins import RandomJoins
from dovetail_bench.spark_tables import SIZES
from dovetail_bench.spark_vocabulary import HINTS, INTEGERS, KEYS, PLAIN, PREDICATES, SAFE

KINDS = (
    *("JOIN",) * 12,
    *("LEFT JOIN",) * 5,
    *("RIGHT JOIN",) * 2,
    *("FULL JOIN",) * 2,
    *("LEFT SEMI JOIN",) * 2,
    *("LEFT ANTI JOIN",) * 2,
    "CROSS JOIN",
)

FEWEST, MOST = 3, 6

# Share of the queries that have expressions which may fail.
FAILING = 0.6


@dataclass(frozen=True)
class Input:
    """A relation in a FROM clause; `whole` ones have all columns of a table, others only `k`, `g`, `v` and `s`."""

    sql: str
    alias: str
    whole: bool

    def column(self, name: str) -> str:
        """The column, or the key if this relation lacks it."""
        return f"{self.alias}.{name if self.whole or name in DERIVED else 'k'}"


# Columns of every derived relation.
DERIVED = ("k", "g", "v", "s")


class SparkQuery(RandomJoins[Input]):
    """Generator of one query."""

    KINDS = KINDS
    CHAIN = 0.8

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._failing = self._chance(FAILING)

    def text(self) -> str:
        """Text of the query."""
        roll = self._random.randrange(20)
        if roll == 0:
            operation = self._one("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
            return f"{self._narrow(FEWEST)} {operation} {self._narrow(FEWEST)}"
        if roll == 1:
            return self._twice()
        return self._select(self._random.randint(FEWEST, MOST))

    def _select(self, size: int) -> str:
        source, visible, where = self._from(size)
        columns, tail = self._output(visible)
        return f"SELECT {self._hints(visible)}{columns} FROM {source}{_where(where)}{tail}"

    def _narrow(self, size: int) -> str:
        """A query over joins that has the columns of a derived relation."""
        source, visible, where = self._from(size)
        a, b = self._pick(visible), self._pick(visible)
        columns = f"{a.column('k')} AS k, {b.column('g')} AS g, {self._integer(a, b)} AS v, {b.column('s')} AS s"
        return f"SELECT {columns} FROM {source}{_where(where)}"

    def _twice(self) -> str:
        """A common table expression, joined with itself."""
        table = self._whole()
        kind = self._one("JOIN", "LEFT JOIN", "FULL JOIN")
        return (
            f"WITH c AS ({self._narrow(FEWEST)}) SELECT p.k, p.v, q.s FROM c p {kind} c q ON p.k = q.k "
            f"JOIN {table.sql} ON {table.alias}.k = q.k AND {self._predicate_of(table)}"
        )

    # FROM

    def _from(self, size: int) -> tuple[str, list[Input], list[str]]:
        commas = self._chance(0.25)
        source, visible, where = self._commas(size) if commas else (*self._joins(size), [])
        if self._chance(0.2):
            lateral, seen = self._lateral(visible, commas)
            source, visible = f"{source}{lateral}", [*visible, seen]
        where = [*where, *(self._predicate(visible) for _ in range(self._random.choice((0, 0, 1, 1, 2))))]
        return source, visible, where

    def _lateral(self, visible: Sequence[Input], commas: bool) -> tuple[str, Input]:
        """A subquery that sees the relations before it. After commas it has no JOIN, which would hide all but one."""
        a, z, alias = self._pick(visible), self._whole(), self._alias()
        body = self._one(
            f"SELECT {z.alias}.k, {z.alias}.g, {a.column('v')} + {z.alias}.v AS v, {z.alias}.s FROM {z.sql} "
            f"WHERE {z.alias}.k = {a.column('k')}",
            f"SELECT max({z.alias}.k) AS k, count(*) AS g, sum({z.alias}.v) AS v, min({z.alias}.s) AS s FROM {z.sql} "
            f"WHERE {z.alias}.k = {a.column('k')}",
            f"SELECT {a.column('k')} AS k, {a.column('g')} AS g, {self._integer(a, a)} AS v, {a.column('s')} AS s",
        )
        if commas or self._chance(0.5):
            return f", LATERAL ({body}) {alias}", Input("", alias, False)
        return f" LEFT JOIN LATERAL ({body}) {alias} ON true", Input("", alias, False)

    def _table(self) -> str:
        """A table. Small ones are drawn less often, because an empty input empties most answers."""
        return self._random.choices(tuple(SIZES), weights=(9, 9, 9, 9, 9, 2, 1))[0]

    def _whole(self) -> Input:
        alias = self._alias()
        return Input(f"{self._table()} {alias}", alias, True)

    def _input(self) -> Input:
        """Mostly a table, else a derived relation."""
        roll = self._random.randrange(24)
        if roll > 11:
            return self._whole()
        alias, inner, other = self._alias(), self._whole(), self._table()
        a, table = inner.alias, inner.sql
        e = self._integer(inner, inner)
        columns = f"{a}.k, {a}.g, {a}.v, {a}.s"
        window = self._one(
            f"rank() OVER (PARTITION BY {a}.k ORDER BY {a}.v)",
            f"sum({a}.v) OVER (PARTITION BY {a}.g)",
            f"max({e}) OVER (PARTITION BY {a}.k)",
            f"count({a}.v) OVER (PARTITION BY {a}.st)",
            f"lag({a}.k) OVER (PARTITION BY {a}.c ORDER BY {a}.k)",
        )
        operation = self._one("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL")
        second = self._whole()
        natural = self._one("NATURAL FULL JOIN", "NATURAL JOIN", "NATURAL LEFT JOIN")
        using = self._one("FULL JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN")
        third = self._whole()
        bodies = (
            f"SELECT {a}.k, {a}.g, {e} AS v, {a}.s FROM {table}",
            f"SELECT {a}.k, {a}.g, {e} AS v, {a}.s FROM {table} WHERE {self._predicate_of(inner)}",
            f"SELECT {e} AS k, {a}.g, {a}.v, lower(CAST({a}.c AS STRING)) AS s FROM {table}",
            f"SELECT {a}.k, {a}.g, {window} AS v, {a}.s FROM {table}",
            f"SELECT {columns} FROM {table} {operation} SELECT k, g, v, s FROM {other}",
            f"SELECT {a}.k, count(*) AS g, max({e}) AS v, min({a}.s) AS s FROM {table} GROUP BY {a}.k",
            f"SELECT DISTINCT {columns} FROM {table} WHERE {self._predicate_of(inner)}",
            f"SELECT k, x AS g, y AS v, s FROM (SELECT k, g AS x, s FROM {self._table()}) {natural} "
            f"(SELECT k, v AS y FROM {other})",
            f"SELECT k, {third.alias}.g, {a}.v, {second.alias}.s FROM {table} {using} {second.sql} USING (k) "
            f"{using} {third.sql} USING (k)",
            f"SELECT k, p AS g, {a}.v, {second.alias}.s FROM {table} {using} {second.sql} USING (k, p)",
            f"SELECT {a}.k, {second.alias}.g, {self._integer(inner, second)} AS v, {a}.s FROM {table} "
            f"JOIN {second.sql} ON {a}.k = {second.alias}.k",
            f"SELECT {a}.k, {a}.g, x.v, {a}.s FROM {table}, LATERAL explode({a}.ar) AS x(v)",
        )
        return Input(f"({bodies[roll]}) {alias}", alias, False)

    # Conditions

    def _condition(self, left: Sequence[Input], right: Sequence[Input]) -> str:
        a, b = self._pick(left), self._pick(right)
        roll = self._random.randrange(20)
        if roll == 0 and self._widen():
            return f"{a.column('v')} {self._one('<', '>=', '<>')} {b.column('v')}"
        if roll == 1:
            return f"{a.column('k')} <=> {b.column('k')}"
        if roll in (2, 3):
            main = f"{a.column('k')} = {b.column('k')} AND {self._integer(a, b)} > {b.column('v')}"
        elif roll == 4:
            main = f"{self._integer(a, a)} = {b.column('k')}"
        elif roll == 5:
            main = f"{a.column('k')} = {b.column('k')} AND {self._integer(b, b)} = {a.column('v')}"
        elif roll == 6 and len(left) > 1:
            c = self._pick(left)
            main = f"{a.column('k')} + {c.column('v')} = {b.column('v')}"
        elif roll == 7:
            main = f"{a.column('k')} = {b.column('k')} AND {self._predicate_of(self._one(a, b))}"
        elif roll == 8:
            main = f"struct({a.column('k')}, {a.column('v')}) = struct({b.column('k')}, {b.column('v')})"
        elif roll == 9:
            main = f"{self._equality(a, b)} AND {self._equality(self._pick(left), b)}"
        elif roll == 10:
            main = f"{a.column('k')} = {b.column('k')} AND ({self._predicate_of(a)} OR {self._predicate_of(b)})"
        else:
            main = self._equality(a, b)
        return f"{main} AND {self._predicate_of(self._one(a, b))}" if self._chance(0.15) else main

    def _equality(self, a: Input, b: Input) -> str:
        key = self._random.choice(KEYS) if a.whole and b.whole else self._one("k", "k", "k", "g", "v", "s")
        return f"{a.column(key)} = {b.column(key)}"

    def _predicate_of(self, i: Input) -> str:
        """A predicate on one relation."""
        if not i.whole:
            return f"{i.alias}.{self._one('v < 3', 'k IN (1, 2)', 's IS NOT NULL', 'g >= 1', 'k <> 9')}"
        texts = PREDICATES if self._failing and self._chance(0.3) else SAFE
        return f"({self._pick(texts).format(a=i.alias)})"

    def _integer(self, a: Input, b: Input) -> str:
        """An integer expression over one row or two, which may fail on some rows."""
        if not self._failing:
            return f"coalesce({a.column('v')}, {b.column('k')}, 0)"
        if a is not b and self._chance(0.4):
            return self._one(
                f"{a.column('v')} div {b.column('v')}",
                f"{a.column('m')} + {b.column('m')}",
                f"{a.column('k')} % {b.column('m')}",
                f"CAST(concat({a.column('n')}, {b.column('k')}) AS INT)",
            )
        whole = [i for i in (a, b) if i.whole]
        return self._pick(INTEGERS).format(a=self._pick(whole).alias) if whole else f"12 div {a.column('v')}"

    def _predicate(self, visible: Sequence[Input]) -> str:
        a, b, z, y = self._pick(visible), self._pick(visible), self._whole(), self._whole()
        no = self._one("", "NOT ")
        zk, yk = f"{z.alias}.k", f"{y.alias}.k"
        choices = (
            f"({self._predicate_of(a)} OR {self._predicate_of(b)})",
            f"{self._integer(a, b)} {self._one('<', '>', '=', '<>')} {b.column('v')}",
            f"{no}EXISTS (SELECT 1 FROM {z.sql} WHERE {zk} = {a.column('k')} AND {self._predicate_of(z)})",
            f"{no}EXISTS (SELECT 1 FROM {z.sql} JOIN {y.sql} ON {self._equality(z, y)} WHERE {yk} = {a.column('k')})",
            f"{a.column('k')} {no}IN (SELECT {zk} FROM {z.sql} WHERE {self._predicate_of(z)})",
            f"{a.column('k')} NOT IN (SELECT {zk} FROM {z.sql} WHERE {zk} IS NOT NULL AND {z.alias}.v NOT IN "
            f"(SELECT {y.alias}.v FROM {y.sql} WHERE {self._predicate_of(y)}))",
            f"{a.column('v')} NOT IN (SELECT {z.alias}.v FROM {z.sql} WHERE {z.alias}.v IS NOT NULL AND {zk} IN "
            f"(SELECT {yk} FROM {y.sql} WHERE {y.alias}.g = {z.alias}.g))",
            f"({a.column('k')}, {b.column('v')}) {no}IN (SELECT {zk}, {z.alias}.v FROM {z.sql})",
            f"({self._predicate_of(a)} OR {b.column('k')} IN (SELECT {z.alias}.v FROM {z.sql}))",
            f"{a.column('v')} > (SELECT avg({z.alias}.v) - 1 FROM {z.sql} WHERE {zk} = {b.column('k')})",
            f"{self._integer(a, a)} {no}IN (SELECT {self._integer(z, z)} FROM {z.sql} WHERE {zk} < 4)",
            f"{a.column('k')} + {b.column('v')} >= {self._pick(visible).column('v')}",
        )
        return self._pick((*choices, *(self._predicate_of(a),) * 4))

    # SELECT

    def _hints(self, visible: Sequence[Input]) -> str:
        if not self._chance(0.3):
            return ""
        names = [i.alias for i in visible]
        chosen = (
            f"{self._pick(HINTS)}({self._pick(names)})",
            f"{self._pick(HINTS)}({', '.join(self._random.sample(names, min(2, len(names))))})",
            "COALESCE(1)",
            "REPARTITION(2)",
            "DOVETAIL_OFF",
            f"DOVETAIL_ORDER('({' '.join(self._random.sample(names, len(names)))})')",
        )
        return f"/*+ {self._pick(chosen)} */ "

    def _output(self, visible: Sequence[Input]) -> tuple[str, str]:
        """The select list, and the clauses after WHERE."""
        a, b, c = (self._pick(visible) for _ in range(3))
        columns = [i.column(self._random.choice(PLAIN)) for i in (a, b, c)]
        named = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns))
        number = self._integer(a, b)
        roll = self._random.randrange(10)
        if roll == 0:
            return f"count(*), sum({a.column('v')}), max({number}), count({b.column('st')})", ""
        if roll < 4:
            groups = ", ".join(dict.fromkeys(columns))
            extra = f", {a.column('st')}" if self._chance(0.3) else ""
            having = self._one("", "", " HAVING count(*) > 1")
            return f"{named}{extra}, count(*) AS n, max({number}) AS e", f" GROUP BY {groups}{extra}{having}"
        if roll == 4:
            return f"DISTINCT {named}, lower({b.column('c')}) AS l", ""
        if roll == 5:
            over = f"OVER (PARTITION BY {a.column('k')} ORDER BY {b.column('v')})"
            return f"{named}, rank() {over} AS r, {number} AS e", ""
        if roll == 6:
            return (
                f"{named}, {a.column('c')} AS o, {b.column('c')} AS q, {a.column('ar')} AS w, {b.column('st')} AS y",
                "",
            )
        return f"{named}, {number} AS e, {self._integer(b, c)} AS f", ""


def _where(predicates: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(predicates)}" if predicates else ""
