"""The join graph as a picture: relations on a circle, predicates as lines.

Columns that are all equal meet in one point. A circle rather than forces: the same query always gives the same picture,
and no label ever covers another.
"""

from __future__ import annotations

import math

from dovetail.report import numbers
from dovetail.report.markup import dot, label, line, picture, tag, text
from dovetail.report.model import Group

# All in pixels.
CHARACTER = 6.6
MARGIN = 12
# Along the circle, from one relation to the next.
SPACING = 40
SMALLEST_CIRCLE = 80
SMALLEST, LARGEST = 4.0, 11.0
HUB = 4.0
# From a relation to its name.
GAP = 8.0
# Relations from which names are written along the radius: side by side they would touch.
CROWDED = 14
LONGEST_NAME = 34


def draw(group: Group) -> str:
    """The picture; empty where no edge is known."""
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


def _circle(group: Group) -> list[str]:
    """The relations in the order of the plan, which has neighbours next to each other."""
    leaves = group.plan.leaves() if group.plan is not None else []
    known = [relation.name for relation in group.relations]
    return leaves if sorted(leaves) == sorted(known) else known


def _center(group: Group, names: list[str]) -> str | None:
    """The fact table of a star: the one that has an edge with at least half of the others, and more than any."""
    neighbours: dict[str, set[str]] = {name: set() for name in names}
    for edge in group.edges:
        for name in edge.relations:
            neighbours.get(name, set()).update(other for other in edge.relations if other != name)
    degrees = sorted((len(neighbours[name]), -at) for at, name in enumerate(names))
    if len(names) < 4 or degrees[-1][0] == degrees[-2][0] or degrees[-1][0] < (len(names) - 1) / 2:
        return None
    return names[-degrees[-1][1]]


def _edge(ends: list[tuple[float, float]], condition: str) -> list[str]:
    tooltip = tag("title", text(condition))
    if len(ends) == 2:
        return [tag("line", tooltip, x1=ends[0][0], y1=ends[0][1], x2=ends[1][0], y2=ends[1][1])]
    if len(ends) < 2:
        return []
    hub = (sum(x for x, _ in ends) / len(ends), sum(y for _, y in ends) / len(ends))
    return [*(line(*end, *hub) for end in ends), dot(*hub, HUB, condition, class_="hub")]


def _name(name: str, x: float, y: float, size: float, angle: float | None, crowded: bool) -> str:
    short = _short(name)
    if angle is None:
        return label(x, y + size + GAP + 6, short, class_="name halo", text_anchor="middle")
    right = math.cos(angle) > -1e-9
    if crowded:
        turn = math.degrees(angle) + (0 if right else 180)
        away = size + GAP if right else -size - GAP
        anchor = "start" if right else "end"
        return label(
            x + away, y + 4, short, class_="name", text_anchor=anchor, transform=f"rotate({turn:.1f} {x:.1f} {y:.1f})"
        )
    if abs(math.cos(angle)) < 0.2:
        above = math.sin(angle) < 0
        return label(x, y + (-size - GAP if above else size + GAP + 6), short, class_="name", text_anchor="middle")
    away = size + GAP if right else -size - GAP
    return label(x + away, y + 4, short, class_="name", text_anchor="start" if right else "end")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
