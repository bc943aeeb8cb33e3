"""Join orders and their cost C_out, which is the number of rows out of all joins, the last one included.

    C_out(relation) = 0,  C_out(l ⋈ r) = |l ⋈ r| + C_out(l) + C_out(r)

(Cluet and Moerkotte, ICDT 1995). The best order is the best of all bushy trees without cross products.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dovetail_bench.join_query import Relations


@dataclass(frozen=True)
class Order:
    """A relation, or a join of two orders.

    Attributes:
        relations: All relations of the order.
        inputs: Both sides of a join; None for a relation.
        crossed: Whether the join has no condition.
    """

    relations: Relations
    inputs: tuple[Order, Order] | None = None
    crossed: bool = False

    def __str__(self) -> str:
        if self.inputs is None:
            return next(iter(self.relations))
        left, right = self.inputs
        return f"({left} {'x ' if self.crossed else ''}{right})"


def relation(alias: str) -> Order:
    """The order of a single relation."""
    return Order(frozenset((alias,)))


def join(left: Order, right: Order, crossed: bool = False) -> Order:
    """Joins two orders."""
    return Order(left.relations | right.relations, (left, right), crossed)


def cout(order: Order, rows: Callable[[Order], float]) -> float:
    """C_out of an order: rows out of all its joins."""
    if order.inputs is None:
        return 0.0
    left, right = order.inputs
    return rows(order) + cout(left, rows) + cout(right, rows)


def over_best(cout_of_order: float, best: float) -> float:
    """C_out of an order over that of the best one; 0 rows count as 1."""
    return max(cout_of_order, 1.0) / max(best, 1.0)


def best_and_worst(sizes: Mapping[Relations, int]) -> tuple[float, float]:
    """C_out of the best and of the worst order without cross products.

    Args:
        sizes: Rows of every connected sub-plan.
    """
    best: dict[Relations, float] = {}
    worst: dict[Relations, float] = {}
    for whole in sorted(sizes, key=len):
        if len(whole) == 1:
            best[whole] = worst[whole] = 0.0
            continue
        pairs = [(part, whole - part) for part in best if part < whole and whole - part in best]
        best[whole] = sizes[whole] + min(best[left] + best[right] for left, right in pairs)
        worst[whole] = sizes[whole] + max(worst[left] + worst[right] for left, right in pairs)
    return best[whole], worst[whole]
