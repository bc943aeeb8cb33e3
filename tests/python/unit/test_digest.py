"""Two answers are the same if they are equal, except for the last digits of floating-point sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import Comparison, Run
from dovetail.comparison import TOLERANCE, differences


def digest(rows: int = 2, hash: str = "9f", **sums: list[Any]) -> dict[str, Any]:
    return {"rows": rows, "hash": hash, "sums": {key.removeprefix("c"): value for key, value in sums.items()}}


def test_equal_digests_do_not_differ() -> None:
    assert differences(digest(c3=[12.5, 12.5]), digest(c3=[12.5, 12.5])) == []


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        (digest(rows=3, c3=[1.0, 1.0]), "2 rows without, 3 with Dovetail"),
        (digest(hash="0", c3=[1.0, 1.0]), "columns that are not floating point"),
        (digest(c3=[1.1, 1.1]), "floating-point column 4: 1.0 without, 1.1 with Dovetail"),
        (digest(c3=[1.0, 1.2]), "floating-point column 4"),
        (digest(), "floating-point column 4"),
    ],
)
def test_every_difference_is_said(ours: dict[str, Any], said: str) -> None:
    found = differences(digest(c3=[1.0, 1.0]), ours)
    assert len(found) == 1
    assert said in found[0]


def test_cancelling_sums_are_measured_by_their_absolute_values() -> None:
    assert differences(digest(c0=[1e-9, 1e6]), digest(c0=[-1e-9, 1e6])) == []
    assert differences(digest(c0=[10.0, 1e6]), digest(c0=[-10.0, 1e6])) != []


@given(st.floats(1e-6, 1e12), st.floats(-2, 2))
def test_the_tolerance_is_relative(size: float, part: float) -> None:
    same = differences(digest(c0=[size, size]), digest(c0=[size * (1 + part * TOLERANCE), size])) == []
    if abs(part) < 0.99:
        assert same
    elif abs(part) > 1.01:
        assert not same


def test_not_a_number_equals_itself_only() -> None:
    nan = digest(c0=["NaN", "NaN"])
    assert differences(nan, nan) == []
    assert differences(nan, digest(c0=[1.0, 1.0])) != []


def run(seconds: tuple[float, ...], orders: tuple[str, ...], join_rows: int) -> Run:
    return Run(10, seconds, 20.0, 1.0, join_rows, 1000, orders)


def test_a_comparison_reads_as_a_table() -> None:
    plain = run((3.0, 1.0, 2.0), ("((a b) c)",), 1_000_000)
    ours = run((1.0, 1.0, 1.0), ("((a c) b)",), 10_000)
    comparison = Comparison("SELECT 1", plain, ours, ())
    assert comparison.same_answer
    assert comparison.reordered
    assert comparison.speedup == 2.0
    lines = str(comparison).splitlines()
    assert lines[0].split() == ["plain", "Spark", "Dovetail", "ratio"]
    assert lines[2].split() == ["seconds", "2.00", "1.00", "0.50"]
    # values that a run does not report are unknown
    assert lines[3].split() == ["task", "seconds", "-", "-", "-"]
    assert lines[5].split() == ["join", "rows", "1,000,000", "10,000", "0.01"]
    assert lines[-1] == "same answer"
    assert comparison.to_dict()["plain"]["orders"] == ["((a b) c)"]
    unseen = replace(comparison, not_compared=("tags", "point"))
    assert str(unseen).splitlines()[-2:] == ["values not compared, only NULLs: tags, point", "same answer"]


def test_one_round_after_a_warm_up_begins_with_plain_spark() -> None:
    once = Comparison("SELECT 1", run((1.0,), (), 0), run((1.0,), (), 0), ())
    assert "one run each, Dovetail first" in str(once)
    assert "one run each after a warm-up, plain Spark first" in str(replace(once, warmed=True))


def test_a_different_answer_is_loud() -> None:
    comparison = Comparison("SELECT 1", run((1.0,), (), 0), run((1.0,), (), 0), ("2 rows without, 3 with Dovetail",))
    assert not comparison.same_answer
    assert str(comparison).endswith("DIFFERENT ANSWERS: 2 rows without, 3 with Dovetail")
