"""Quality of join orders and estimates: ratios of C_out, and q-errors (Moerkotte, Neumann and Steidl, VLDB 2009)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class EstimatePair:
    """An estimate of the rows of a sub-plan, with the true number of rows.

    Attributes:
        query: Name of the query.
        relations: Aliases of the sub-plan's relations, joined by commas.
        joins: Number of joins in the sub-plan; 0 for a base table after its predicates.
        value: Estimated rows.
        true: True rows.
    """

    query: str
    relations: str
    joins: int
    value: float
    true: int

    @property
    def q_error(self) -> float:
        """Factor by which the estimate is off, in either direction. Values below one row count as one row."""
        value, true = max(self.value, 1.0), max(self.true, 1.0)
        return max(value / true, true / value)

    @property
    def under(self) -> bool:
        """Whether the estimate, rounded to whole rows, is less than the truth."""
        return round(self.value) < self.true


@dataclass(frozen=True)
class Summary:
    """Q-errors of many estimates, and the share of underestimates."""

    number: int
    median: float
    p95: float
    worst: float
    under: float


def summary(estimates: Sequence[EstimatePair]) -> Summary:
    """Summarizes at least one estimate."""
    errors = sorted(e.q_error for e in estimates)
    under = sum(e.under for e in estimates) / len(estimates)
    return Summary(len(errors), quantile(errors, 0.5), quantile(errors, 0.95), errors[-1], under)


def quantile(ascending: Sequence[float], share: float) -> float:
    """Quantile of an ascending sequence, with linear interpolation between neighbors."""
    place = share * (len(ascending) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (ascending[high] - ascending[low]) * (place - low)


def geometric_mean(ratios: Sequence[float]) -> float:
    """Geometric mean of at least one positive number."""
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
