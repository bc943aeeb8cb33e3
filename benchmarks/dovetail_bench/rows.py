"""Comparison of two multisets of rows: exact, except that floating-point numbers are compared with a tolerance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]

# Number of rows shown of a difference: enough to see its kind.
SHOWN_ROWS = 3


@dataclass(frozen=True)
class Tolerance:
    """How far apart two numbers may be and still count as equal.

    Attributes:
        relative: Allowed difference, as a part of the larger number.
        absolute: Allowed difference of numbers near zero.
        decimals: Whether it also covers decimals, which other engines divide and average in another scale.
    """

    relative: float
    absolute: float
    decimals: bool


# Doubles that are added in another order differ in the last few of their 15 digits. Decimals and integers are exact.
SAME_ENGINE = Tolerance(relative=1e-9, absolute=1e-9, decimals=False)

# Spark rounds averages and quotients of decimals to a scale of 6 or more; DuckDB computes them as doubles.
OTHER_ENGINE = Tolerance(relative=1e-6, absolute=1e-5, decimals=True)


def difference(expected: Sequence[Row], actual: Sequence[Row], tolerance: Tolerance) -> str | None:
    """What differs between two multisets of rows, in words; None if they are equal."""
    if len(expected) != len(actual):
        return f"{len(expected)} rows expected, {len(actual)} returned"
    if expected and len(expected[0]) != len(actual[0]):
        return f"{len(expected[0])} columns expected, {len(actual[0])} returned"
    inexact = _inexact_columns([*expected, *actual], tolerance)
    wanted, got = _grouped(expected, inexact), _grouped(actual, inexact)
    missing: list[Row] = []
    surplus: list[Row] = []
    for key in wanted.keys() | got.keys():
        left, right = _unmatched(wanted.get(key, []), got.get(key, []), inexact, tolerance)
        missing += left
        surplus += right
    if not missing and not surplus:
        return None
    return f"{len(missing)} rows differ: missing {missing[:SHOWN_ROWS]}, instead {surplus[:SHOWN_ROWS]}"


def same_sequence(expected: Sequence[Row], actual: Sequence[Row], tolerance: Tolerance) -> bool:
    """Whether the rows are equal one by one, in this order."""
    return len(expected) == len(actual) and all(
        _close_rows(e, a, tolerance) for e, a in zip(expected, actual, strict=True)
    )


def _inexact_columns(rows: Sequence[Row], tolerance: Tolerance) -> list[int]:
    kinds: tuple[type, ...] = (float, Decimal) if tolerance.decimals else (float,)
    width = min(map(len, rows), default=0)
    return [i for i in range(width) if any(isinstance(row[i], kinds) for row in rows)]


def _grouped(rows: Sequence[Row], inexact: list[int]) -> dict[Row, list[Row]]:
    """Groups rows by their exact columns."""
    groups: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(v for i, v in enumerate(row) if i not in inexact)].append(row)
    return groups


def _unmatched(
    expected: list[Row], actual: list[Row], inexact: list[int], tolerance: Tolerance
) -> tuple[list[Row], list[Row]]:
    """Rows of either side without a partner on the other side. All have the same exact columns."""

    def by_value(row: Row) -> list[tuple[bool, float]]:
        return [(row[i] is not None, float(row[i] or 0) if _number(row[i]) else 0.0) for i in inexact]

    expected, actual = sorted(expected, key=by_value), sorted(actual, key=by_value)
    if same_sequence(expected, actual, tolerance):
        return [], []
    # Nearly equal values may sort differently on the two sides, so a row may match any other one.
    missing = []
    for row in expected:
        partner = next((i for i, other in enumerate(actual) if _close_rows(row, other, tolerance)), None)
        if partner is None:
            missing.append(row)
        else:
            del actual[partner]
    return missing, actual


def _close_rows(expected: Row, actual: Row, tolerance: Tolerance) -> bool:
    return len(expected) == len(actual) and all(_close(e, a, tolerance) for e, a in zip(expected, actual, strict=True))


def _close(expected: Any, actual: Any, tolerance: Tolerance) -> bool:
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, float) or isinstance(actual, float) or (tolerance.decimals and _decimal(expected, actual)):
        if not (_number(expected) and _number(actual)):
            return bool(expected == actual)
        left, right = float(expected), float(actual)
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)
    return bool(expected == actual)


def _number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal)


def _decimal(expected: Any, actual: Any) -> bool:
    return isinstance(expected, Decimal) or isinstance(actual, Decimal)
