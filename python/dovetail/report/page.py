"""An explanation as self-contained HTML, without scripts and network access, for browsers, notebooks and mail.

A notebook shows `fragment`; `page` is the same as a document. The tables contain all that the pictures show.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.report import error_picture, graph_picture, numbers, tables, tree_picture
from dovetail.report.markup import tag, text
from dovetail.report.model import COST_PARTS, Group, Join, Report, Tree
from dovetail.report.words import (
    NOTHING,
    advice,
    at_run_time,
    lack,
    other_method,
    reasons,
    reduced,
    second_order,
    step,
)

# The style sheet hides this text, so it appears if a viewer removes the style sheet. JupyterLab removes it, and the
# drawings too, in a notebook that its reader has neither run nor trusted.
UNSTYLED = "No drawings here? Trust the notebook, or run this cell."

# Full width of a bar in percent. It stands for the longest phase, or the most expensive join.
FULL = 100.0


def page(report: Report, query: str | None = None) -> str:
    """A complete document.

    Args:
        report: What to show.
        query: The text of the query, if it is known.
    """
    title = "Dovetail: join order of a query"
    head = tag("title", text(title)) + tag(
        "style", "body{margin:0;background:light-dark(#fff,#151a21);color-scheme:light dark}"
    )
    asked = tag("details", tag("summary", "Query"), tag("pre", tag("code", text(query))), open="") if query else ""
    body = fragment(report, tag("h1", text(title)), asked)
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{meta}{head}</head><body>{tag("main", body)}</body></html>\n'


def fragment(report: Report, *before: str) -> str:
    """The report as one element with its style."""
    state = (
        "" if report.enabled else tag("p", "Switched off: ", tag("code", "spark.dovetail.enabled=false"), class_="note")
    )
    costs = f", {report.cost_model} costs" if report.cost_model else ""
    time = "" if report.total_ms is None else f", planned in {report.total_ms:.0f} ms"
    head = tag("p", text(f"Dovetail {report.version}{costs}{time}"), class_="soft")
    groups = [_group(group, len(report.groups)) for group in report.groups] or [tag("p", text(NOTHING))]
    groups += [tag("p", text(note), class_="note") for note in report.notes]
    shown = [*groups, _run(report), _phases(report)]
    parts = [tag("p", UNSTYLED, class_="unstyled"), head, state]
    return tag("div", tag("style", tables.style()), *before, *parts, *shown, class_="dovetail")


def _group(group: Group, of: int) -> str:
    number = f"Group {group.number}" + (f" of {of}" if of > 1 else "")
    badge = tag(
        "span", text(group.verdict), class_=f"badge {'reordered' if group.status == 'reordered' else ''}".rstrip()
    )
    parts = [tag("h2", text(f"{number} "), badge), tag("p", text(_sentence(group)))]
    if group.plan is None and group.relations:
        parts.append(tag("p", text("Inputs: " + ", ".join(relation.label for relation in group.relations))))
    if group.missing:
        told = [tag("li", text(f"{m.table}: {lack(m)} "), tag("code", text(m.statement))) for m in group.missing]
        parts.append(tag("div", text("Statistics that would help:"), tag("ul", *told), class_="note"))
    if group.guessed:
        told_of = text(f"Rows are guessed for {', '.join(group.guessed)}. Statistics would help: ")
        parts.append(tag("p", told_of, tag("code", text(advice(group.guessed))), class_="note"))
    parts.append(_figures(group))
    written = "Written order"
    if group.after is not None:
        parts.append(_joins(group.after, "Chosen order"))
        if group.before is not None:
            parts.append(tag("details", tag("summary", written), _joins(group.before, written)))
    elif group.before is not None:
        parts.append(_joins(group.before, f"{written}, kept"))
    parts += [tag("p", text(at_run_time(order))) for order in group.at_run_time]
    if group.plan is not None:
        parts.append(_inputs(group))
    parts.append(_search(group))
    return tag("section", *parts)


def _sentence(group: Group) -> str:
    told = group.reason[:1].upper() + group.reason[1:] + "." if group.reason else ""
    if group.runner_up is not None:
        told += f" Runner-up: {second_order(group.runner_up, group.written_cost)}."
    return told


def _search(group: Group) -> str:
    """Details of the search, folded at first."""
    if group.algorithm is None:
        return ""
    pairs = "" if group.pairs is None else f", {group.pairs:,} pairs of sub-plans"
    return tag("details", tag("summary", "Search"), tag("p", text(f"{group.algorithm}{pairs}")))


def _figures(group: Group) -> str:
    figures = []
    for title, tree in (("Written order", group.before), ("Chosen order", group.after)):
        if tree is not None and tree.whole:
            drawn = tree_picture.draw(tree, group, title)
            figures.append(_figure(title, _cost(tree, group), drawn, tree_picture.is_deep(tree)))
    graph = graph_picture.draw(group)
    if graph:
        figures.append(
            _figure("Join graph", "hover over a line to see its condition", graph, graph_picture.is_crowded(group))
        )
    errors = error_picture.draw(group.plan) if group.plan is not None else ""
    if errors:
        figures.append(_figure("Estimated and actual rows", "dotted line: off by a factor of ten", errors))
    if not figures:
        return ""
    key = "Orders: the number in a circle is the step in the table, with its result rows; more rows, larger circle; "
    key += f"orange: at least {tree_picture.COSTLY:.0%} of the cost."
    return tag("div", *figures, class_="figures") + tag("p", text(key), class_="soft")


def _figure(title: str, more: str, drawn: str, wide: bool = False) -> str:
    caption = tag("figcaption", text(title), " ", tag("span", text(more), class_="soft"))
    return tag("figure", caption, _scroll(drawn, title), class_="wide" if wide else None)


def _cost(tree: Tree, group: Group) -> str:
    """The cost relative to that of the written order, because costs of the model have no familiar unit."""
    return f"cost {numbers.share(tree.cost, group.written_cost) or numbers.UNKNOWN}"


def _scroll(content: str, name: str) -> str:
    """An element that scrolls by itself if it is wider than the page, also with the keyboard."""
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=name)


def _joins(tree: Tree, title: str) -> str:
    if not tree.joins:
        return ""
    ran = any(join.actual is not None for join in tree.joins)
    second = any(join.runner_up is not None for join in tree.joins)
    header = [("#", True), ("join", False), ("rows", True), *([("actual", True), ("off by", True)] if ran else [])]
    bounded = any(join.rows is not None and numbers.bounds(join.rows) for join in tree.joins)
    header += [("bounds", False)] if bounded else []
    header += [("source", False), ("method", False), *([("runner-up", False)] if second else [])]
    header += [("share", True), ("parts of the cost", False), ("on", False)]
    most = max((join.cost or 0.0 for join in tree.joins), default=0.0)
    body = [_join(join, tree, most, ran, bounded, second) for join in tree.joins]
    caption = tag("caption", text(f"{title}, step by step"))
    table = tag("table", caption, _header(header), tag("tbody", *body))
    keys = [tag("span", "", class_=f"key {part}", aria_hidden="true") + text(part) for part in COST_PARTS]
    why = [tag("li", text(line)) for line in reasons(tree.joins)]
    told = tag("details", tag("summary", "Why these methods"), tag("ul", *why)) if why else ""
    saved = ", hatched: saved reading of a scan" if any(join.parts.get("scan", 0.0) < 0 for join in tree.joins) else ""
    parts = tag("p", "Parts of the cost: ", " ".join(keys), saved, class_="soft")
    fewer = [tag("li", text(reduced(reducer))) for reducer in tree.reducers]
    return _scroll(table, title) + parts + (tag("ul", *fewer) if fewer else "") + told


def _join(join: Join, tree: Tree, most: float, ran: bool, bounded: bool, second: bool) -> str:
    rows = join.rows
    cells = [tag("td", str(join.number), class_="right"), tag("th", text(step(join)), scope="row")]
    cells.append(_right(numbers.count(None if rows is None else rows.value)))
    if ran:
        cells += [
            _right("" if join.actual is None else numbers.count(join.actual)),
            _right(numbers.factor(join.q_error)),
        ]
    if bounded:
        cells.append(tag("td", text("" if rows is None else numbers.bounds(rows)), class_="bounds"))
    cells += [_left("" if rows is None else rows.source or ""), tag("td", text(join.method or ""), class_="method")]
    if second:
        cells.append(_left(other_method(join)))
    cells.append(_right(numbers.share(join.cost, tree.cost)))
    cells += [tag("td", _bar(join, tree, most)), tag("td", tag("code", text(join.condition)), class_="on")]
    return tag("tr", *cells)


def _bar(join: Join, tree: Tree, most: float) -> str:
    if not most or not join.parts:
        return ""
    told = ", ".join(
        f"{part} {numbers.share(value, tree.cost)}" if value > 0 else f"{part} saves {numbers.share(-value, tree.cost)}"
        for part, value in join.parts.items()
        if value
    )
    spans = [
        # saved work of a scan is hatched, and as wide as its cost would be
        tag("span", "", class_=part if value > 0 else f"{part} saved", style=f"width:{FULL * abs(value) / most:.1f}%")
        for part, value in join.parts.items()
        if value
    ]
    return tag("div", *spans, class_="bar", role="img", aria_label=told, title=told)


def _inputs(group: Group) -> str:
    body = []
    for relation in group.relations:
        rows = relation.rows
        known = [_right("?"), _left(""), _left("")]
        if rows is not None:
            bounds = tag("td", text(numbers.bounds(rows)), class_="bounds")
            known = [_right(numbers.count(rows.value)), bounds, _left(rows.source or "")]
        body.append(
            tag("tr", tag("th", text(relation.label), scope="row"), *known, _right(numbers.size(relation.bytes)))
        )
    header = [("input", False), ("rows", True), ("bounds", False), ("source", False), ("size in memory", True)]
    table = tag(
        "table",
        tag("caption", "Inputs, after their own filters"),
        _header(header),
        tag("tbody", *body),
        class_="narrow",
    )
    return _scroll(table, "Inputs")


def _run(report: Report) -> str:
    if not report.run:
        return ""
    header = [("part", False), ("of", False), ("task time", True), ("bytes", True), ("spilled", True), ("skew", True)]
    body = [
        tag(
            "tr",
            tag("th", text(step.kind), scope="row"),
            _left(step.of),
            _right("" if step.millis is None else numbers.duration(step.millis)),
            _right("" if step.bytes is None else numbers.size(step.bytes)),
            _right(numbers.size(step.spilled) if step.spilled else ""),
            _right(numbers.factor(step.skew)),
        )
        for step in report.run
    ]
    table = tag("table", tag("caption", "What the run took, part by part"), _header(header), tag("tbody", *body))
    return tag("section", _scroll(table, "Run"))


def _phases(report: Report) -> str:
    if not report.phases:
        return ""
    longest = max(report.phases.values()) or 1.0
    body = [
        tag(
            "tr",
            tag("th", text(phase), scope="row"),
            _right(f"{ms:.1f}"),
            tag(
                "td",
                tag(
                    "div",
                    tag("span", "", class_="time", style=f"width:{FULL * ms / longest:.1f}%"),
                    class_="bar",
                    aria_hidden="true",
                ),
                style="width:70%",
            ),
        )
        for phase, ms in report.phases.items()
    ]
    header = _header([("phase", False), ("milliseconds", True), ("", False)])
    return tag(
        "section",
        tag("table", tag("caption", "Planning time in Dovetail's rule"), header, tag("tbody", *body), class_="narrow"),
    )


def _header(columns: Sequence[tuple[str, bool]]) -> str:
    cells = [
        tag("th", text(name), scope="col", class_="right" if right else None) if name else tag("td", "")
        for name, right in columns
    ]
    return tag("thead", tag("tr", *cells))


def _left(words: str) -> str:
    return tag("td", text(words))


def _right(words: str) -> str:
    return tag("td", text(words), class_="right")
