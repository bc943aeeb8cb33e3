"""Compares rows in any order: exactly if values are exact, otherwise with a tolerance."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dovetail_bench.rows import OTHER_ENGINE, SAME_ENGINE, Row, Tolerance, difference, same_sequence

EXACT = [(1, "a", None), (2, "b", Decimal("1.50")), (2, "b", Decimal("1.50"))]


def test_rows_in_another_order_are_the_same() -> None:
    assert difference(EXACT, EXACT[::-1], SAME_ENGINE) is None
    assert not same_sequence(EXACT, EXACT[::-1], SAME_ENGINE)


@pytest.mark.parametrize(
    "actual",
    [
        pytest.param(EXACT[:2], id="a duplicate is missing"),
        pytest.param([EXACT[0], EXACT[0], EXACT[1]], id="another row is the duplicate"),
        pytest.param([(1, "a", 0), *EXACT[1:]], id="zero instead of NULL"),
        pytest.param([(1, "A", None), *EXACT[1:]], id="letter case"),
        pytest.param([*EXACT[:2], (2, "b", Decimal("1.51"))], id="a decimal"),
        pytest.param([(*row, 1) for row in EXACT], id="a column more"),
    ],
)
def test_a_difference_is_found_and_described(actual: list[Row]) -> None:
    assert difference(EXACT, actual, SAME_ENGINE)
    assert difference(actual, EXACT, SAME_ENGINE)


def test_texts_and_nulls_among_floats_are_compared_as_they_are() -> None:
    rows: list[Row] = [(1, 0.1), (1, "a text"), (1, None), (1, float("nan"))]
    assert difference(rows, rows[::-1], SAME_ENGINE) is None
    assert difference(rows, [(1, 0.1), (1, "another"), (1, None), (1, float("nan"))], SAME_ENGINE)
    assert difference(rows, [(1, 0.1), (1, "a text"), (1, 0.0), (1, float("nan"))], SAME_ENGINE)


@pytest.mark.parametrize(
    ("left", "right", "tolerance", "same"),
    [
        (0.1 + 0.2, 0.3, SAME_ENGINE, True),
        (1e12, 1e12 + 1, SAME_ENGINE, True),
        (1.0, 1.000001, SAME_ENGINE, False),
        (0.0, 1e-6, SAME_ENGINE, False),
        (float("nan"), float("nan"), SAME_ENGINE, True),
        (float("nan"), 0.0, SAME_ENGINE, False),
        (None, 0.0, SAME_ENGINE, False),
        (Decimal("0.333333"), Decimal("0.333334"), SAME_ENGINE, False),
        (Decimal("0.333333"), 1 / 3, OTHER_ENGINE, True),
        (Decimal("0.333333"), 0.3334, OTHER_ENGINE, False),
        (None, 0.0, OTHER_ENGINE, False),
    ],
)
def test_numbers(left: object, right: object, tolerance: Tolerance, same: bool) -> None:
    assert (difference([("k", left)], [("k", right)], tolerance) is None) == same


def test_nearly_equal_rows_find_their_partners_though_they_sort_differently() -> None:
    # If both were sorted by the first number, the wrong rows would be paired.
    expected: list[Row] = [("k", 1.0, 5.0), ("k", 1.0 + 1e-12, 7.0)]
    actual: list[Row] = [("k", 1.0 + 1e-12, 5.0), ("k", 1.0, 7.0)]
    assert difference(expected, actual, SAME_ENGINE) is None
    assert difference(expected, [("k", 1.0, 5.0), ("k", 1.0, 8.0)], SAME_ENGINE)
