"""An explanation for a terminal: per group the inputs, and the plans as steps, each step naming the steps it builds on.

Steps rather than nested brackets: a plan of 30 joins stays a table of 30 short lines. What a line has no room for, and
what is said of the many joins that cost next to nothing, is in JSON and HTML.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dovetail.report import numbers
from dovetail.report.model import Alternative, Group, Join, Missing, Report, Tree

# Characters of a line. Statements, which are there to be copied, are never broken.
WIDTH = 120
# Characters up to which an order is worth a line of its own; beyond, the steps say the same and can be read.
LONGEST_ORDER = 90
# Characters of the inputs of a step. Conditions have what is left of a line, and are left out where that is less.
WIDEST_INPUTS = 40
NARROWEST_CONDITION = 12
# Joins and tables of which more is said: the dearest ones.
MOST_REASONS = 10
MOST_MISSING = 10

NOTHING = "No group of joins has three or more relations: nothing to reorder."


def render(report: Report) -> str:
    """The whole report."""
    off = "" if report.enabled else " (switched off: spark.dovetail.enabled=false)"
    costs = f", {report.cost_model} costs" if report.cost_model and report.groups else ""
    blocks = [[f"Dovetail {report.version}{off}{costs}"]]
    blocks += [_group(group, len(report.groups)) for group in report.groups] or [[NOTHING]]
    blocks += [[line for note in report.notes for line in _wrapped(note, "", "  ")]] if report.notes else []
    times = ", ".join(f"{phase} {ms:.1f}" for phase, ms in report.phases.items())
    blocks += [[f"planning ms: {times}"]] if times else []
    return "\n\n".join("\n".join(block) for block in blocks)


def _group(group: Group, of: int) -> list[str]:
    number = f"Group {group.number}" + (f" of {of}" if of > 1 else "")
    lines = _wrapped(f"{number}: {group.verdict}: {group.reason}", "", "  ")
    if group.algorithm is not None:
        pairs = "" if group.pairs is None else f", {group.pairs:,} pairs of sub-plans"
        lines.append(f"  search: {group.algorithm}{pairs}")
    if group.plan is None and group.relations:
        lines += _wrapped(f"inputs: {', '.join(relation.name for relation in group.relations)}", "  ", "    ")
    elif group.relations:
        lines += _inputs(group)
    if group.before is not None:
        lines += _tree("written", group.before)
    if group.after is not None:
        lines += _tree("chosen", group.after)
    if group.plan is not None:
        lines += _reasons(group.plan) if group.plan.joins else []
    if group.runner_up is not None:
        lines.append(f"  runner-up: {second_order(group.runner_up)}")
    if group.missing:
        lines.append("  statistics that would help, and the statements that collect them")
    for missing in (group.missing or ())[:MOST_MISSING]:
        lines += [*_wrapped(f"{missing.table}: {lack(missing)}", "    ", "      "), f"      {missing.statement};"]
    if len(group.missing or ()) > MOST_MISSING:
        lines.append(f"    and {len(group.missing or ()) - MOST_MISSING} more tables: dovetail.advise(spark, query)")
    if group.guessed:
        lines += _wrapped(f"rows guessed for {', '.join(group.guessed)}: {advice(group.guessed)}", "  ", "    ")
    return lines


def lack(missing: Missing) -> str:
    """What is not known of a table, and how much depends on it.

    >>> lack(Missing("sales", ("item",), "never analyzed; 10 rows from footer", 0.5, "DOVETAIL ANALYZE TABLE sales"))
    'never analyzed; 10 rows from footer; distinct values guessed for item; its joins have 50 % of the cost'
    """
    guessed = f"; distinct values guessed for {', '.join(missing.columns)}" if missing.columns else ""
    share = "" if missing.cost_share is None else f"; its joins have {100 * missing.cost_share:.0f} % of the cost"
    return f"{missing.reason}{guessed}{share}"


def advice(tables: Sequence[str]) -> str:
    """The calls that would replace guesses by statistics.

    >>> advice(["sales", "item"])
    'dovetail.analyze(spark, "sales"), dovetail.analyze(spark, "item")'
    """
    return ", ".join(f'dovetail.analyze(spark, "{table}")' for table in tables)


def second_order(runner_up: Alternative) -> str:
    """The cheapest other order, and what it costs; of an order that is too long to be read, only the cost.

    >>> second_order(Alternative("((a b) c)", 1200.0)), second_order(Alternative("(a b)" * 30, 1200.0))
    ('((a b) c), cost 1.2e+03', 'another order, cost 1.2e+03')
    """
    order = runner_up.text if len(runner_up.text) <= LONGEST_ORDER else "another order"
    return f"{order}, cost {numbers.cost(runner_up.cost)}"


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
    steps = [step(join) for join in tree.joins]
    longest = min(max(map(len, steps)), WIDEST_INPUTS)
    table = _table(tree, steps, longest)
    left = WIDTH - max(map(len, table)) - 2
    if left < NARROWEST_CONDITION:
        return [title, *_table(tree, steps, longest + left + 2)]
    conditions = ("on", *(_cut(join.condition, left) for join in tree.joins))
    return [title, *(f"{line.ljust(WIDTH - left)}{on}".rstrip() for line, on in zip(table, conditions, strict=True))]


def _table(tree: Tree, steps: Sequence[str], widest: int) -> list[str]:
    ran = any(join.actual is not None for join in tree.joins)
    run = ("actual", "off by") if ran else ()
    header = ("#", "join", "rows", *run, "bounds", "source", "method", "cost", "share")
    rows = [
        (
            str(join.number),
            _cut(inputs, widest),
            *_numbers(join, ran),
            join.method or "?",
            numbers.cost(join.cost),
            numbers.share(join.cost, tree.cost),
        )
        for join, inputs in zip(tree.joins, steps, strict=True)
    ]
    left = {"join", "bounds", "source", "method"}
    return _columns(header, rows, right={at for at, name in enumerate(header) if name not in left})


def _numbers(join: Join, ran: bool) -> tuple[str, ...]:
    rows = join.rows
    actual = (numbers.count(join.actual), numbers.factor(join.q_error)) if ran else ()
    if rows is None:
        return ("?", *actual, "", "")
    return (numbers.count(rows.value), *actual, numbers.bounds(rows), rows.source or "")


def reasons(joins: Sequence[Join], runner_up: bool = False) -> list[str]:
    """Why each join is executed as it is, by its number; steps with the same reason together.

    Args:
        joins: The steps.
        runner_up: Also names the cheapest other method of each.
    """
    found: dict[str, list[str]] = {}
    for join in joins:
        why = join.why or ""
        if runner_up and join.runner_up is not None:
            why += f"{'; ' if why else ''}runner-up {join.runner_up.text}, cost {numbers.cost(join.runner_up.cost)}"
        if why:
            found.setdefault(f"{join.method}: {why}", []).append(f"({join.number})")
    return [f"{' '.join(numbers)} {why}" for why, numbers in found.items()]


def _reasons(tree: Tree) -> list[str]:
    """Those of the dearest joins."""
    least = sorted((join.cost or 0.0 for join in tree.joins), reverse=True)[:MOST_REASONS][-1]
    dear = [join for join in tree.joins if (join.cost or 0.0) >= least][:MOST_REASONS]
    lines = [line for why in reasons(dear, runner_up=True) for line in _wrapped(why, "    ", "      ")]
    others = len(tree.joins) - len(dear)
    return [*lines, f"    HTML and JSON have the reasons of {others} cheaper joins"] if lines and others else lines


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


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
