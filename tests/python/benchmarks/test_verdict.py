"""Verdicts on answers: differences that ORDER BY and LIMIT allow (ties) are told apart from wrong answers."""

from __future__ import annotations

import pytest

from dovetail_bench.queries import Query
from dovetail_bench.rows import SAME_ENGINE, Row
from dovetail_bench.verdict import DIFFERENT, SAME, TIE_LIMIT, TIE_ORDER, Answer, judge, order_keys

COLUMNS = ("name", "total")

# Ordered by total, in which b and c are equal.
ROWS: list[Row] = [("a", 1), ("b", 2), ("c", 2), ("d", 3)]
TIED: list[Row] = [("a", 1), ("c", 2), ("b", 2), ("d", 3)]


def _query(text: str) -> Query:
    return Query("suite", "q", text)


ORDERED = _query("SELECT name, total FROM t ORDER BY total")
LIMITED = _query("SELECT name, total FROM t ORDER BY total LIMIT 2")
UNORDERED = _query("SELECT name, total FROM t")


def _judge(query: Query, expected: list[Row], actual: list[Row], all_expected: list[Row], all_actual: list[Row]) -> str:
    verdict, _ = judge(
        query, Answer(COLUMNS, expected), Answer(COLUMNS, actual), lambda: (all_expected, all_actual), SAME_ENGINE
    )
    return verdict


@pytest.mark.parametrize(
    ("query", "expected", "actual", "verdict"),
    [
        (ORDERED, ROWS, ROWS, SAME),
        (ORDERED, ROWS, TIED, TIE_ORDER),
        (ORDERED, ROWS, ROWS[::-1], DIFFERENT),
        (ORDERED, ROWS, ROWS[:3], DIFFERENT),
        (UNORDERED, ROWS, ROWS[::-1], SAME),
        (UNORDERED, ROWS, [*ROWS[:3], ("d", 4)], DIFFERENT),
        (LIMITED, ROWS[:2], [ROWS[0], ROWS[2]], TIE_LIMIT),
        (LIMITED, ROWS[:2], [ROWS[0], ROWS[3]], DIFFERENT),
        (LIMITED, ROWS[:2], ROWS[:1], DIFFERENT),
        (LIMITED, ROWS[:2], [ROWS[0], ("x", 2)], TIE_LIMIT),
    ],
)
def test_verdict(query: Query, expected: list[Row], actual: list[Row], verdict: str) -> None:
    """Both sides give the same rows without LIMIT here."""
    assert _judge(query, expected, actual, ROWS, TIED) == verdict


def test_rows_that_differ_without_limit_are_no_tie() -> None:
    assert _judge(LIMITED, ROWS[:2], [ROWS[0], ("x", 2)], ROWS, [*ROWS[:3], ("x", 2)]) == DIFFERENT


@pytest.mark.parametrize(
    ("order_by", "keys"),
    [
        ("total, name", [1, 0]),
        ("2, 1", [1, 0]),
        ("t.TOTAL DESC NULLS LAST, name", [1, 0]),
        ("total, upper(name), name", [1]),
        ("coalesce(total, 0)", []),
    ],
)
def test_order_keys_are_the_leading_items_that_are_columns(order_by: str, keys: list[int]) -> None:
    assert order_keys(_query(f"SELECT name, total FROM t ORDER BY {order_by} LIMIT 5"), COLUMNS) == keys


def test_an_ambiguous_name_is_no_key() -> None:
    assert order_keys(_query("SELECT a.x, b.x FROM a, b ORDER BY a.x"), ("x", "x")) == []


@pytest.mark.parametrize(
    ("order", "keys"),
    [("2, 1", [1, 0]), ("2.5", []), ("`1`", []), ("3", []), ("0", []), ("b, 2.5, a", [1]), ("t.a", [0])],
)
def test_positions_and_names_of_order_by(order: str, keys: list[int]) -> None:
    assert order_keys(Query("x", "q", f"SELECT a, b FROM t ORDER BY {order}"), ("a", "b")) == keys
