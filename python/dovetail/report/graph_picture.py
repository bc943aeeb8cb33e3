"""The join graph as a picture: relations on a circle, predicates as lines.

The relations of a class of equal columns are connected through one point. The layout is a circle rather than
force-directed: the same query always gives the same picture, and labels never overlap.
"""

from __future__ import annotations

import math

from dovetail.report import numbers
from dovetail.report.markup import HALF_LETTER, dot, label, line, picture, tag, text
from dovetail.report.model import Group

# All in pixels.
CHARACTER = 6.6
MARGIN = 12
# Distance along the circle from one relation to the next.
SPACING = 40
SMALLEST_CIRCLE = 80
SMALLEST, LARGEST = 4.0, 11.0
HUB = 4.0
# Distance from a relation to its name.
GAP = 8.0
# From this number of relations on, names are written along the radius; horizontal names would touch.
CROWDED = 14
# Largest number of characters of a name.
LONGEST_NAME = 34
# Fewest neighbors of a relation that is drawn in the center of a snowflake.
FEWEST_RAYS = 5
# If the absolute cosine is below this, a relation is at the top or bottom, and its name goes above or below it.
UPRIGHT = 0.2


def draw(group: Group) -> str:
    """The picture; empty if no edge is known."""
    names = _circle(group)
    if not group.edges or not names:
        return ""
    center = _center(group, names)
    around = [name for name in names if name != center]
    radius = max(SMALLEST_CIRCLE, len(around) * SPACING / (2 * math.pi))
    room = max(len(_short(name)) for name in names) * CHARACTER + LARGEST + GAP + MARGIN
    crowded = len(around) >= CROWDED
    half_height = radius + (room if crowded else LARGEST + 2 * GAP + MARGIN)
    middle = (radius + room, half_height)
    angle = {name: 2 * math.pi * at / len(around) - math.pi / 2 for at, name in enumerate(around)}
    place = {name: (middle[0] + radius * math.cos(a), middle[1] + radius * math.sin(a)) for name, a in angle.items()}
    if center is not None:
        place[center] = middle
    lines = [
        mark for edge in group.edges for mark in _edge([place[n] for n in edge.relations if n in place], edge.condition)
    ]
    rows = {relation.name: relation.rows for relation in group.relations}
    marks = []
    for name in names:
        estimate = rows.get(name)
        count = None if estimate is None else estimate.value
        size = min(LARGEST, SMALLEST + math.log10(max(count or 1.0, 1.0)))
        marks.append(dot(*place[name], size, f"{name}: {numbers.count(count)} rows", class_="relation"))
        marks.append(_name(name, *place[name], size, angle.get(name), crowded))
    told = "; ".join(edge.condition for edge in group.edges)
    return picture(2 * middle[0], 2 * middle[1], f"Join graph of {len(names)} relations: {told}", *lines, *marks)


def is_crowded(group: Group) -> bool:
    """Whether the picture is too wide for half a page."""
    return len(group.relations) > CROWDED


def _circle(group: Group) -> list[str]:
    """The relations in their order on the circle: by the class of equal columns, then in the order of the plan.

    The plan has neighbors side by side. Without the order by class, the points of two classes, each in the middle of
    its relations, would overlap in the center of the circle.
    """
    leaves = group.plan.leaves() if group.plan is not None else []
    known = [relation.name for relation in group.relations]
    hubs = [edge.relations for edge in group.edges if len(edge.relations) > 2]
    first = {name: next((at for at, hub in enumerate(hubs) if name in hub), len(hubs)) for name in known}
    return sorted(leaves if sorted(leaves) == sorted(known) else known, key=first.__getitem__)


def _center(group: Group, names: list[str]) -> str | None:
    """The relation in the center, usually a fact table; None if no relation stands out.

    It has more neighbors than any other relation: at least half of the others, or at least `FEWEST_RAYS` and twice as
    many as any other.
    """
    neighbours: dict[str, set[str]] = {name: set() for name in names}
    for edge in group.edges:
        for name in edge.relations:
            neighbours.get(name, set()).update(other for other in edge.relations if other != name)
    degrees = sorted((len(neighbours[name]), -at) for at, name in enumerate(names))
    if len(names) < 4:
        return None
    most, second = degrees[-1][0], degrees[-2][0]
    if most == second or most < min((len(names) - 1) / 2, max(2 * second, FEWEST_RAYS)):
        return None
    return names[-degrees[-1][1]]


def _edge(ends: list[tuple[float, float]], condition: str) -> list[str]:
    tooltip = tag("title", text(condition))
    if len(ends) == 2:
        return [line(*ends[0], *ends[1], tooltip)]
    if len(ends) < 2:
        return []
    hub = (sum(x for x, _ in ends) / len(ends), sum(y for _, y in ends) / len(ends))
    return [*(line(*end, *hub) for end in ends), dot(*hub, HUB, condition, class_="hub")]


def _name(name: str, x: float, y: float, size: float, angle: float | None, crowded: bool) -> str:
    short, away = _short(name), size + GAP
    if angle is None:
        return label(x, y + away + HALF_LETTER, short, class_="name halo", text_anchor="middle")
    if abs(math.cos(angle)) < UPRIGHT and not crowded:
        above = math.sin(angle) < 0
        return label(x, y + (-away if above else away + HALF_LETTER), short, class_="name", text_anchor="middle")
    right = math.cos(angle) >= 0
    turn = math.degrees(angle) + (0 if right else 180)
    return label(
        x + away if right else x - away,
        y + HALF_LETTER,
        short,
        class_="name",
        text_anchor="start" if right else "end",
        transform=f"rotate({turn:.1f} {x:.1f} {y:.1f})" if crowded else None,
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
