"""Texts for parts of an explanation on pages and in pictures. The jar writes the explanation as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.report import numbers
from dovetail.report.model import Alternative, AtRunTime, Join, Missing, Reducer

# Largest number of characters of an order that is shown. A longer order is hard to read, and the steps say the same.
LONGEST_ORDER = 80

NOTHING = "No group of joins has three or more relations: nothing to reorder."


def lack(missing: Missing) -> str:
    """What is unknown about a table, and how much of the cost depends on it.

    >>> lack(Missing("sales", ("item",), "never analyzed; 10 rows from footer", 0.5, "DOVETAIL ANALYZE TABLE sales"))
    'never analyzed; 10 rows from footer; distinct values guessed for item; its joins have 50 % of the cost'
    """
    guessed = f"; distinct values guessed for {', '.join(missing.columns)}" if missing.columns else ""
    share = "" if missing.cost_share is None else f"; its joins have {100 * missing.cost_share:.0f} % of the cost"
    return f"{missing.reason}{guessed}{share}"


def advice(tables: Sequence[str]) -> str:
    """The calls that would replace guesses by statistics.

    >>> advice(["sales", "item"])
    'dovetail.analyze(spark, "sales"), dovetail.analyze(spark, "item")'
    """
    return ", ".join(f'dovetail.analyze(spark, "{table}")' for table in tables)


def second_order(runner_up: Alternative, written: float | None) -> str:
    """The cheapest other order, and its cost relative to the written order; a long order itself is left out.

    >>> second_order(Alternative("((a b) c)", 300.0), 1200.0), second_order(Alternative("(a b)" * 30, 1200.0), 1200.0)
    ('((a b) c), cost 25 %', 'another order, cost 100 %')
    """
    order = runner_up.text if len(runner_up.text) <= LONGEST_ORDER else "another order"
    return f"{order}, cost {numbers.share(runner_up.cost, written) or numbers.UNKNOWN}"


def at_run_time(found: AtRunTime) -> str:
    """The decision at run time about the planned order of a chain of joins.

    >>> at_run_time(AtRunTime("((f a) c)", "((f c) a)", "2 rows of c, estimated 20", (500.0, 450.0)))
    'At run time ((f c) a), in place of ((f a) c): 2 rows of c, estimated 20. Rows out of its joins: 500, 450.'
    >>> at_run_time(AtRunTime("((f a) c)", None, "the best one", ()))
    'At run time the planned order: the best one.'
    """
    if found.order is None:
        return f"At run time the planned order: {found.reason}."
    order, planned = (
        text if text and len(text) <= LONGEST_ORDER else "another order" for text in (found.order, found.planned)
    )
    rows = ", ".join(numbers.count(row) for row in found.rows)
    return f"At run time {order}, in place of {planned}: {found.reason}. Rows out of its joins: {rows}."


def other_method(join: Join) -> str:
    """The cheapest other method for a join, and how many times as much it costs.

    >>> join = Join(1, ("a", "b"), (), "inner", "", None, None, 100.0, {}, None, None, Alternative("sort merge", 240.0))
    >>> other_method(join)
    'sort merge, 2.4x the cost'
    """
    other = join.runner_up
    if other is None:
        return ""
    return (
        f"{other.text}, {numbers.factor(other.cost / join.cost)} the cost" if other.cost and join.cost else other.text
    )


def reasons(joins: Sequence[Join]) -> list[str]:
    """The reasons for the methods of joins, with the numbers of the joins; joins with the same reason share a line."""
    found: dict[str, list[str]] = {}
    for join in joins:
        if join.why:
            found.setdefault(f"{join.method}: {join.why}", []).append(f"({join.number})")
    return [f"{' '.join(numbers)} {why}" for why, numbers in found.items()]


def step(join: Join) -> str:
    """The inputs of a join; earlier steps by number.

    >>> step(Join(3, (2, "item"), (), "left outer", "", None, None, None, {}, None, None, None))
    '(2) left outer join item'
    """
    word = " join " if join.kind == "inner" else f" {join.kind} join "
    return word.join(f"({node})" if isinstance(node, int) else node for node in join.inputs)


def reduced(reducer: Reducer) -> str:
    """What a Bloom filter does.

    >>> reduced(Reducer("inventory", ("date_dim",), "inventory.day = date_dim.day", 0.03, 0.028))
    'inventory reduced by date_dim (Bloom filter on inventory.day = date_dim.day), keeps about 3 %; it kept 3 %'
    """
    told = f"{reducer.relation} reduced by {', '.join(reducer.by)} (Bloom filter on {reducer.condition})"
    ran = "" if reducer.actual is None else f"; it kept {numbers.share(reducer.actual, 1.0)}"
    return f"{told}, keeps about {numbers.share(reducer.kept, 1.0)}{ran}"
