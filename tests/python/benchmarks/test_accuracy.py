"""q-errors and their summaries."""

from __future__ import annotations

import pytest

from dovetail_bench.accuracy import EstimatePair, geometric_mean, quantile, summary


@pytest.mark.parametrize(
    ("value", "true", "error", "under"),
    [
        (10.0, 10, 1.0, False),
        (5.0, 10, 2.0, True),
        (30.0, 10, 3.0, False),
        (0.0, 10, 10.0, True),
        (0.2, 0, 1.0, False),
        (9.7, 10, 10 / 9.7, False),
    ],
)
def test_q_errors(value: float, true: int, error: float, under: bool) -> None:
    estimated = EstimatePair("q", "a,b", 1, value, true)
    assert estimated.q_error == pytest.approx(error)
    assert estimated.under == under


def test_summary_of_estimates() -> None:
    found = summary(
        [EstimatePair("q", "a", 0, float(10 * n), 10) for n in range(1, 22)] + [EstimatePair("q", "b", 0, 5.0, 10)]
    )
    assert (found.number, found.median, found.worst) == (22, 10.5, 21.0)
    assert found.p95 == pytest.approx(19.95)
    assert found.under == pytest.approx(1 / 22)


def test_quantiles_and_means() -> None:
    assert quantile([3.0], 0.95) == 3.0
    assert quantile([1.0, 2.0], 0.5) == 1.5
    assert geometric_mean([1.0, 4.0, 16.0]) == pytest.approx(4.0)
