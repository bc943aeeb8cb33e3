"""Rank correlations of costs and times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_bench.cost_correlation import Measurement, correlations, ranks, spearman


def test_ranks_of_equal_values_are_their_mean() -> None:
    assert ranks([30.0, 10.0, 20.0, 20.0]) == [4.0, 1.0, 2.5, 2.5]


@given(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=30, unique=True))
def test_only_the_order_counts(values: list[float]) -> None:
    assert spearman(values, [value**3 for value in values]) == pytest.approx(1.0)
    assert spearman(values, [-value for value in values]) == pytest.approx(-1.0)


def test_slow_queries_are_also_correlated_alone() -> None:
    found = [
        Measurement("a", 9.0, 1, 1.0),
        Measurement("b", 1.0, 2, 2.0),
        Measurement("c", 2.0, 3, 3.0),
        Measurement("d", 3, 4, 4),
    ]
    whole, slow = correlations(found)
    assert whole["rows out of joins, counted"] == pytest.approx(1.0)
    assert whole["estimated cost"] < 0.0
    assert (slow["queries"], slow["estimated cost"]) == ("at least 2.5 s (2)", pytest.approx(1.0))
