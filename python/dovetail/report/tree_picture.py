"""A plan as a picture: tables on the left, with one line each; joins merge the lines toward the right.

There is one line per table for every shape of the tree, so that 30 tables are as readable as 3.
"""

from __future__ import annotations

import math

from dovetail.report import numbers
from dovetail.report.markup import HALF_LETTER, dot, label, line, picture
from dovetail.report.model import Group, Join, Tree

# All in pixels.
LINE = 26
MARGIN = 14
# Width of one character of a table's name, at the font size in style.css.
CHARACTER = 7.0
# Distance from join to join, with room for the circle and a number of rows: less in a deep tree, and least in a deep
# chain, in which the numbers are above one another.
STEP, STEP_IF_DEEP, STEP_IN_CHAIN = 70, 52, 34
# Width of a page.
PAGE = 1210
# From this depth in joins on, a tree is deep and gets the whole width of the page.
DEEP = 8
SMALLEST, LARGEST = 9.0, 16.0
# Distance from a name to its line.
GAP = 6
# Largest number of characters of a name.
LONGEST_NAME = 34

# A join is marked if it has at least this share of the plan's cost.
COSTLY = 0.25


def draw(tree: Tree, group: Group, title: str) -> str:
    """The picture; empty if the joins do not form a tree."""
    if not tree.whole:
        return ""
    rows = {relation.name: None if relation.rows is None else relation.rows.value for relation in group.relations}
    leaves = tree.leaves()
    names = {name: _shown(name, rows.get(name)) for name in leaves}
    left = MARGIN + max(len(shown) for shown in names.values()) * CHARACTER
    depth = depths(tree)
    step = _step(tree, max(depth), PAGE - left)
    y: dict[str | int, float] = {name: MARGIN + (at + 0.5) * LINE for at, name in enumerate(leaves)}
    x: dict[str | int, float] = dict.fromkeys(leaves, left + GAP)
    lines, marks = [], []
    for name in leaves:
        marks.append(label(left, y[name] + HALF_LETTER, names[name], class_="name", text_anchor="end"))
    for join in tree.joins:
        here = x[join.number] = left + GAP + depth[join.number - 1] * step
        y[join.number] = sum(y[node] for node in join.inputs) / len(join.inputs)
        lines += [line(x[node], y[node], here, y[node]) for node in join.inputs]
        lines.append(line(here, min(y[node] for node in join.inputs), here, max(y[node] for node in join.inputs)))
        marks += _mark(join, tree, here, y[join.number])
    root = tree.joins[-1].number
    width = x[root] + max(step, STEP_IF_DEEP)
    lines.append(line(x[root], y[root], width, y[root]))
    height = 2 * MARGIN + len(leaves) * LINE
    return picture(width, height, f"{title}: {tree.order}", *lines, *marks)


def is_deep(tree: Tree) -> bool:
    """Whether the picture is too wide for half a page."""
    return tree.whole and max(depths(tree)) >= DEEP


def depths(tree: Tree) -> list[int]:
    """For each join, the number of joins on the longest path down, including itself."""
    found: list[int] = []
    for join in tree.joins:
        found.append(1 + max((found[node - 1] for node in join.inputs if isinstance(node, int)), default=0))
    return found


def _step(tree: Tree, depth: int, room: float) -> float:
    if depth < DEEP:
        return STEP
    chain = all(any(isinstance(node, str) for node in join.inputs) for join in tree.joins)
    return min(STEP_IF_DEEP, max(STEP_IN_CHAIN, room / (depth + 1))) if chain else STEP_IF_DEEP


def _mark(join: Join, tree: Tree, x: float, y: float) -> list[str]:
    rows = None if join.rows is None else join.rows.value
    share = join.cost / tree.cost if join.cost and tree.cost else 0.0
    radius = min(LARGEST, SMALLEST + math.log10(max(rows or 1.0, 1.0)))
    actual = "" if join.actual is None else f", actual {numbers.count(join.actual)}"
    told = f"({join.number}) {join.kind} join, {join.method or '?'}: {numbers.count(rows)} rows{actual}, "
    told += f"{numbers.share(join.cost, tree.cost) or '?'} of the cost\non {join.condition}"
    return [
        dot(x, y, radius, told, class_="join costly" if share >= COSTLY else "join"),
        label(x, y + HALF_LETTER, str(join.number), class_="number", text_anchor="middle"),
        label(x + radius + 2, y - HALF_LETTER, numbers.count(rows), class_="rows"),
    ]


def _shown(name: str, rows: float | None) -> str:
    short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    return short if rows is None else f"{short} {numbers.count(rows)}"
