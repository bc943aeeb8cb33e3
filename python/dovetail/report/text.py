"""An explanation for a terminal: per group the inputs, and the plans as steps, each step naming the steps it builds on.

Steps rather than nested brackets: a plan of 30 joins stays a table of 30 short lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.report import numbers
from dovetail.report.model import Group, Join, Missing, Report, Tree

# Characters up to which an order is worth a line of its own; beyond, the steps say the same and can be read.
LONGEST_ORDER = 100
# Characters of a condition and of the inputs of a step; the rest is in JSON and HTML.
WIDEST_CONDITION = 60
WIDEST_INPUTS = 58

NOTHING = "No group of three or more joins: nothing to reorder."


def render(report: Report) -> str:
    """The whole report."""
    off = "" if report.enabled else " (switched off: spark.dovetail.enabled=false)"
    costs = f", {report.cost_model} costs" if report.cost_model and report.groups else ""
    blocks = [[f"Dovetail {report.version}{off}{costs}"]]
    blocks += [_group(group, len(report.groups)) for group in report.groups] or [[NOTHING]]
    times = ", ".join(f"{phase} {ms:.1f}" for phase, ms in report.phases.items())
    blocks += [[f"planning ms: {times}"]] if times else []
    return "\n\n".join("\n".join(block) for block in blocks)


def _group(group: Group, of: int) -> list[str]:
    number = f"Group {group.number}" + (f" of {of}" if of > 1 else "")
    lines = [f"{number}: {group.verdict}: {group.reason}"]
    if group.algorithm is not None:
        pairs = "" if group.pairs is None else f", {group.pairs:,} pairs of sub-plans"
        lines.append(f"  search: {group.algorithm}{pairs}")
    if group.plan is None and group.relations:
        lines.append(f"  inputs: {', '.join(relation.name for relation in group.relations)}")
    elif group.relations:
        lines += _inputs(group)
    if group.before is not None:
        lines += _tree("written", group.before)
    if group.after is not None:
        lines += _tree("chosen", group.after)
    if group.plan is not None:
        lines += [f"    {line}" for line in reasons(group.plan)]
    if group.runner_up is not None:
        lines.append(
            f"  runner-up  {_cut(group.runner_up.text, LONGEST_ORDER)}  cost {numbers.cost(group.runner_up.cost)}"
        )
    if group.missing:
        lines.append("  statistics that would help, and what collects them")
    for missing in group.missing or ():
        lines += [f"    {missing.table}: {lack(missing)}", f"      {missing.statement};"]
    if group.guessed:
        lines.append(f"  rows guessed for {', '.join(group.guessed)}: {advice(group.guessed)}")
    return lines


def lack(missing: Missing) -> str:
    """What is not known of a table, and how much depends on it.

    >>> lack(Missing("sales", ("item",), "never analyzed; 10 rows from footer", 0.5, "DOVETAIL ANALYZE TABLE sales"))
    'never analyzed; 10 rows from footer; values guessed of item; in joins of 50 % of the cost'
    """
    guessed = f"; values guessed of {', '.join(missing.columns)}" if missing.columns else ""
    share = "" if missing.cost_share is None else f"; in joins of {100 * missing.cost_share:.0f} % of the cost"
    return f"{missing.reason}{guessed}{share}"


def advice(tables: Sequence[str]) -> str:
    """The calls that would replace guesses by statistics.

    >>> advice(["sales", "item"])
    'dovetail.analyze(spark, "sales"), dovetail.analyze(spark, "item")'
    """
    return ", ".join(f'dovetail.analyze(spark, "{table}")' for table in tables)


def _inputs(group: Group) -> list[str]:
    rows = []
    for relation in group.relations:
        estimate = relation.rows
        known = (
            ("?", "", "")
            if estimate is None
            else (numbers.count(estimate.value), numbers.bounds(estimate), estimate.source or "")
        )
        rows.append((_cut(relation.name, WIDEST_INPUTS), *known, numbers.size(relation.bytes)))
    return _columns(("input", "rows", "bounds", "source", "size"), rows, right={1, 4})


def _tree(label: str, tree: Tree) -> list[str]:
    order = f"  {tree.order}" if len(tree.order) <= LONGEST_ORDER else f"  {len(tree.joins)} joins"
    title = f"  {label}{order}  cost {numbers.cost(tree.cost)}"
    if not tree.joins:
        return [title]
    ran = any(join.actual is not None for join in tree.joins)
    second = any(join.runner_up is not None for join in tree.joins)
    header = [
        "#",
        "join",
        "rows",
        *(["actual", "off by"] if ran else []),
        "bounds",
        "source",
        "method",
        "cost",
        "share",
    ]
    header += [*(["runner-up"] if second else []), "on"]
    rows = []
    for join in tree.joins:
        rows.append((str(join.number), _cut(step(join), WIDEST_INPUTS), *_numbers(join, ran), join.method or "?"))
        rows[-1] += (numbers.cost(join.cost), numbers.share(join.cost, tree.cost))
        if second:
            other = join.runner_up
            rows[-1] += (f"{other.text} {numbers.cost(other.cost)}" if other else "",)
        rows[-1] += (_cut(join.condition, WIDEST_CONDITION),)
    left = {"join", "bounds", "source", "method", "runner-up", "on"}
    table = _columns(header, rows, right={at for at, name in enumerate(header) if name not in left})
    return [title, *table]


def _numbers(join: Join, ran: bool) -> tuple[str, ...]:
    rows = join.rows
    actual = (numbers.count(join.actual), numbers.factor(join.q_error)) if ran else ()
    if rows is None:
        return ("?", *actual, "", "")
    return (numbers.count(rows.value), *actual, numbers.bounds(rows), rows.source or "")


def reasons(tree: Tree) -> list[str]:
    """Why each join is executed as it is, by its number; steps with the same reason together."""
    found: dict[str, list[str]] = {}
    for join in tree.joins:
        if join.why:
            found.setdefault(f"{join.method}: {join.why}", []).append(f"({join.number})")
    return [f"{' '.join(numbers)} {why}" for why, numbers in found.items()]


def step(join: Join) -> str:
    """The inputs of a join; earlier steps by number.

    >>> step(Join(3, (2, "item"), (), "left outer", "", None, None, None, {}, None, None, None))
    '(2) left outer join item'
    """
    word = " join " if join.kind == "inner" else f" {join.kind} join "
    return word.join(f"({node})" if isinstance(node, int) else node for node in join.inputs)


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]], right: set[int]) -> list[str]:
    widths = [max(len(cells[at]) for cells in (header, *rows)) for at in range(len(header))]
    return [
        "    "
        + "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in (header, *rows)
    ]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
