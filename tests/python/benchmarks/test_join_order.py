"""C_out of an order, and which order is best."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dovetail_bench.join_order import Order, best_and_worst, cout, join, relation
from dovetail_bench.join_query import Relations

CHAIN: dict[Relations, int] = {
    frozenset(k): v for k, v in {"a": 9, "b": 9, "c": 9, "ab": 100, "bc": 5, "abc": 7}.items()
}


def test_c_out_is_the_rows_of_all_joins_with_the_last_one() -> None:
    a, b, c = map(relation, "abc")
    order = join(join(a, b), c)
    assert cout(order, lambda o: CHAIN[o.relations]) == 107
    assert cout(join(a, join(b, c)), lambda o: CHAIN[o.relations]) == 12
    assert cout(a, lambda o: CHAIN[o.relations]) == 0
    assert str(join(join(b, a), c, crossed=True)) == "((b a) x c)"
    assert best_and_worst(CHAIN) == (12, 107)


def test_the_best_order_may_be_bushy() -> None:
    sizes = {"a": 1, "b": 1, "c": 1, "d": 1, "ab": 2, "bc": 1000, "cd": 3, "abc": 900, "bcd": 900, "abcd": 4}
    assert best_and_worst({frozenset(k): v for k, v in sizes.items()}) == (9, 1904)


def _orders(relations: Relations) -> list[Order]:
    if len(relations) == 1:
        return [relation(next(iter(relations)))]
    first, *rest = sorted(relations)
    found = []
    for size in range(len(rest)):
        for chosen in combinations(rest, size):
            left = frozenset((first, *chosen))
            found += [join(x, y) for x in _orders(left) for y in _orders(relations - left)]
    return found


@given(st.lists(st.integers(0, 1000), min_size=15, max_size=15))
def test_best_and_worst_are_those_of_all_orders_of_a_clique(rows: list[int]) -> None:
    sets = [frozenset(c) for size in range(1, 5) for c in combinations("abcd", size)]
    sizes = dict(zip(sets, rows, strict=True))
    costs = [cout(order, lambda o: sizes[o.relations]) for order in _orders(frozenset("abcd"))]
    assert len(costs) == 15
    assert best_and_worst(sizes) == (min(costs), max(costs))
