"""An explanation as a Mermaid flowchart, for a README, a ticket or a wiki that renders Mermaid.

The flowchart has a box per join group. It shows the chosen order, or the written order if no other was chosen.
"""

from __future__ import annotations

import re

from dovetail.report import numbers
from dovetail.report.model import Group, Join, Report, Tree


def render(report: Report) -> str:
    """The flowchart, from the bottom (tables) to the top (result)."""
    lines = ["flowchart BT"]
    for group in report.groups:
        lines += _group(group)
    if not report.groups:
        lines.append('  none["No group of joins has three or more relations: nothing to reorder."]')
        lines += [f'  note{at}["{_text(note)}"]' for at, note in enumerate(report.notes, 1)]
    return "\n".join(lines)


def _group(group: Group) -> list[str]:
    prefix = f"g{group.number}"
    lines = [f'  subgraph {prefix}["Group {group.number}: {_text(group.verdict)}"]']
    tree = group.plan
    ids = {relation.name: f"{prefix}r{at}" for at, relation in enumerate(group.relations)}
    for relation in group.relations:
        rows = "" if relation.rows is None else f"<br/>{numbers.count(relation.rows.value)} rows"
        lines.append(f'    {ids[relation.name]}[("{_text(relation.name)}{rows}")]')
    if tree is None:
        lines.append(f'    {prefix}why["{_text(group.reason)}"]')
    else:
        lines += [line for join in tree.joins for line in _join(join, tree, prefix, ids)]
    return [*lines, "  end"]


def _join(join: Join, tree: Tree, prefix: str, ids: dict[str, str]) -> list[str]:
    rows = "" if join.rows is None else f"{numbers.count(join.rows.value)} rows"
    actual = "" if join.actual is None else f", actual {numbers.count(join.actual)}"
    share = numbers.share(join.cost, tree.cost)
    label = "<br/>".join(
        _text(part) for part in (join.method or join.kind, rows + actual, share and f"{share} of cost") if part
    )
    node = f"{prefix}j{join.number}"
    inputs = [f"{prefix}j{part}" if isinstance(part, int) else ids.get(part, "") for part in join.inputs]
    return [f'    {node}("{label}")', *(f"    {part} --> {node}" for part in inputs if part)]


def _text(text: str) -> str:
    """Text inside the quotes of a label; characters that are markup in Mermaid or HTML become entity codes.

    >>> _text('a < "b"#2')
    'a #lt; #quot;b#quot;#35;2'
    """
    codes = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "#": "#35;", "&": "#amp;", "`": "#96;"}
    return re.sub(r'["<>#&`]', lambda match: codes[match[0]], text)
