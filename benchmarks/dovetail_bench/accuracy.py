"""How good orders and estimates are: ratios of C_out, and q-errors (Moerkotte, Neumann and Steidl, VLDB 2009)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimated:
    """An estimate of a sub-plan with the truth.

    Attributes:
        query: The query's name.
        relations: Its aliases, joined by commas.
        joins: Number of joins in it; none for a base table after its predicates.
        value: The estimate.
        true: True rows.
    """

    query: str
    relations: str
    joins: int
    value: float
    true: int

    @property
    def q_error(self) -> float:
        """The factor by which the estimate is off, in either direction. Less than one row counts as one."""
        value, true = max(self.value, 1.0), max(self.true, 1.0)
        return max(value / true, true / value)

    @property
    def under(self) -> bool:
        """Whether it is less than the truth, once rounded to whole rows."""
        return round(self.value) < self.true


@dataclass(frozen=True)
class Summary:
    """Of many estimates: q-errors, and the share of underestimates."""

    number: int
    median: float
    p95: float
    worst: float
    under: float


def summary(estimates: Sequence[Estimated]) -> Summary:
    """Of at least one estimate."""
    errors = sorted(e.q_error for e in estimates)
    under = sum(e.under for e in estimates) / len(estimates)
    return Summary(len(errors), quantile(errors, 0.5), quantile(errors, 0.95), errors[-1], under)


def quantile(ascending: Sequence[float], share: float) -> float:
    """With linear interpolation between neighbors."""
    place = share * (len(ascending) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (ascending[high] - ascending[low]) * (place - low)


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of at least one positive number."""
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
