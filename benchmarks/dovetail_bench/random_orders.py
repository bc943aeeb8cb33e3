"""Random join orders without cross products: bushy trees, as explain writes them.

A tree grows from the leaves: of all pairs of parts that an edge of the join graph connects, a random one is joined.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

# Orders that are drawn in vain, one after the other, before a query counts as having no more of them.
MOST_REPEATED = 200

Part = frozenset[str]


def edges(relations: Sequence[str], condition: str) -> list[Part]:
    """Edges of one entry of explain's join graph. Columns that are all equal (`a.x = b.y = c.z`) connect each pair."""
    if len(condition.split(" = ")) >= len(relations):
        return [frozenset(pair) for pair in combinations(relations, 2)]
    return [frozenset(relations)]


def orders(names: Sequence[str], connected: Collection[Part], source: random.Random) -> Iterator[str]:
    """Different random orders; ends when all, or nearly all, were drawn, or if the graph is not connected.

    Args:
        names: Names of the relations.
        connected: Sets of relations that a predicate connects.
        source: Random numbers.
    """
    seen: set[frozenset[Part]] = set()
    repeated = 0
    while repeated < MOST_REPEATED:
        drawn = _draw(names, connected, source)
        if drawn is None:
            return
        text, joins = drawn
        if joins in seen:
            repeated += 1
        else:
            seen.add(joins)
            repeated = 0
            yield text


def _draw(
    names: Sequence[str], connected: Collection[Part], source: random.Random
) -> tuple[str, frozenset[Part]] | None:
    """A random order, and the relations of each of its joins, which tell it from others; None if it gets stuck."""
    parts: dict[Part, str] = {frozenset((name,)): name for name in names}
    joins: set[Part] = set()
    while len(parts) > 1:
        pairs = [(a, b) for a in parts for b in parts if a is not b and _connects(connected, a, b)]
        if not pairs:
            return None
        left, right = source.choice(pairs)
        parts[left | right] = f"({parts.pop(left)} {parts.pop(right)})"
        joins.add(left | right)
    return next(iter(parts.values())), frozenset(joins)


def _connects(connected: Collection[Part], left: Part, right: Part) -> bool:
    return any(edge & left and edge & right and edge <= left | right for edge in connected)
