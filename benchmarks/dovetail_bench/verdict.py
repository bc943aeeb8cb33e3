"""Judges whether an answer is right: it has the rows of the reference, or a named difference that SQL allows.

Rows that are equal under ORDER BY may come in any order, and a LIMIT that cuts through such rows may keep any of them.
Another join order may therefore choose other rows and be right. Such an answer is a "tie". Ties are always reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dovetail_bench.queries import Query
from dovetail_bench.rows import Row, Tolerance, difference, same_sequence

SAME = "same"
TIE_ORDER = "tie: order"
TIE_LIMIT = "tie: limit"
SAME_ERROR = "same error"
DIFFERENT = "different"
FAILED = "failed"

PASSED = (SAME, TIE_ORDER, TIE_LIMIT, SAME_ERROR)


@dataclass(frozen=True)
class Answer:
    """Column names and rows, in the order in which they came."""

    columns: tuple[str, ...]
    rows: list[Row]


@dataclass(frozen=True)
class Verdict:
    """Verdict on the answer of a query in one mode, against a reference.

    Attributes:
        suite: Suite of the query.
        query: Name of the query in its suite.
        against: "spark" (plain) or "duckdb".
        mode: Mode of the answer.
        verdict: One of the names above.
        rows: Number of rows in the answer.
        plan_changed: Whether the physical plan differs from plain Spark's; None if there is no plan.
        detail: What differs, or why the difference is allowed.
    """

    suite: str
    query: str
    against: str
    mode: str
    verdict: str
    rows: int
    plan_changed: bool | None
    detail: str = ""


def judge(
    query: Query,
    expected: Answer,
    actual: Answer,
    without_limit: Callable[[], tuple[list[Row], list[Row]]],
    tolerance: Tolerance,
) -> tuple[str, str]:
    """Returns the verdict and its detail.

    Args:
        query: The query.
        expected: Answer of the reference.
        actual: Answer to judge.
        without_limit: Runs both sides again without the outermost LIMIT; called only if that decides.
        tolerance: Tolerance for numbers.
    """
    found = difference(expected.rows, actual.rows, tolerance)
    keys = order_keys(query, expected.columns)
    in_order = same_sequence(_only(keys, expected.rows), _only(keys, actual.rows), tolerance)
    if found is None:
        if not query.order_by() or same_sequence(expected.rows, actual.rows, tolerance):
            return SAME, ""
        return (TIE_ORDER, "") if in_order else (DIFFERENT, "the same rows, but not ordered as ORDER BY asks")
    if query.has_limit and in_order and len(expected.rows) == len(actual.rows):
        all_rows = difference(*without_limit(), tolerance)
        if all_rows is None:
            return TIE_LIMIT, found
        found = f"without LIMIT: {all_rows}"
    return DIFFERENT, found


def order_keys(query: Query, columns: Sequence[str]) -> list[int]:
    """Positions of the leading ORDER BY items that are columns of the result. No plan may change their sequence.

    The list ends at the first item that is an expression or an ambiguous name: later items only order rows within it.
    """
    names = [column.lower() for column in columns]
    keys = []
    for item in query.order_by():
        name = item.rpartition(".")[2].strip('`"').lower()
        # a whole number is a position; 2.5 is a constant, and `1` a name
        if item.isdigit() and 0 < int(item) <= len(names):
            keys.append(int(item) - 1)
        elif names.count(name) == 1:
            keys.append(names.index(name))
        else:
            break
    return keys


def _only(columns: Sequence[int], rows: Sequence[Row]) -> list[Row]:
    return [tuple(row[i] for i in columns) for row in rows]
