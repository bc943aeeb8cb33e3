"""A plot of estimated and actual rows of a run: one point per join, which is on the diagonal if the estimate is right.

Both axes are logarithmic. The dotted lines mark estimates that are ten times too high or too low.
"""

from __future__ import annotations

import math

from dovetail.report import numbers
from dovetail.report.markup import HALF_LETTER, dot, label, line, picture
from dovetail.report.model import Tree

# In pixels.
SIDE = 300
LEFT, BELOW, MARGIN = 62, 44, 14
POINT = 6.0


def draw(tree: Tree) -> str:
    """The picture; empty if no join has both numbers."""
    points = [
        (join, join.rows.value, join.actual) for join in tree.joins if join.rows is not None and join.actual is not None
    ]
    if not points:
        return ""
    top = max(1, math.ceil(max(_log(number) for _, *pair in points for number in pair)))

    def x(power: float) -> float:
        return LEFT + SIDE * power / top

    def y(power: float) -> float:
        return MARGIN + SIDE * (1 - power / top)

    marks = []
    for power in range(top + 1):
        tick = numbers.count(10.0**power)
        marks += [
            line(x(power), y(0), x(power), y(top), class_="grid"),
            line(x(0), y(power), x(top), y(power), class_="grid"),
        ]
        marks.append(label(x(power), y(0) + 16, tick, class_="rows", text_anchor="middle"))
        marks.append(label(x(0) - 6, y(power) + HALF_LETTER, tick, class_="rows", text_anchor="end"))
    marks.append(line(x(0), y(0), x(top), y(top), class_="right"))
    marks.append(line(x(0), y(1), x(top - 1), y(top), class_="tenfold"))
    marks.append(line(x(1), y(0), x(top), y(top - 1), class_="tenfold"))
    marks.append(label(x(top / 2), y(0) + 34, "estimated rows", class_="name", text_anchor="middle"))
    middle = y(top / 2)
    marks.append(
        label(12, middle, "actual rows", class_="name", text_anchor="middle", transform=f"rotate(-90 12 {middle:.1f})")
    )
    # Joins whose points overlap share a label.
    together: dict[tuple[float, float], list[str]] = {}
    for join, estimated, actual in points:
        told = f"({join.number}): estimated {numbers.count(estimated)}, actual {numbers.count(actual)}"
        told += f", off by {numbers.factor(join.q_error)}"
        at = (x(_log(estimated)), y(_log(actual)))
        marks.append(dot(*at, POINT, told, class_="join"))
        together.setdefault((round(at[0] / POINT) * POINT, round(at[1] / POINT) * POINT), []).append(str(join.number))
    marks += [label(a + POINT + 2, b - 3, ", ".join(found), class_="rows") for (a, b), found in together.items()]
    worst = max(join.q_error or 1.0 for join, *_ in points)
    told = f"Estimated against actual rows of {len(points)} joins; the worst is off by {numbers.factor(worst)}"
    return picture(LEFT + SIDE + MARGIN + 20, MARGIN + SIDE + BELOW, told, *marks)


def _log(number: float) -> float:
    return math.log10(max(number, 1.0))
