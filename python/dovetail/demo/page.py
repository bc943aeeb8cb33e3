"""The demo's page: one self-contained HTML file with a bar for each query and mode, and with the join orders."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from dovetail.demo.data import Dataset
from dovetail.demo.measure import MODES, Result, total
from dovetail.demo.show import sentence
from dovetail.report.markup import tag, text

# Full width of a bar in percent. It stands for the largest value of the query: one query may have a thousand times the
# rows of another one.
FULL = 100.0

# Colors of the modes, which differ clearly on light and dark backgrounds.
COLORS = ("#8d949c", "#4e79a7", "#59a14f")

STYLE = """
body { margin: 0; background: light-dark(#fff, #151a21); color-scheme: light dark; }
.demo .bar { display: block; height: .7rem; min-width: 1px; } .demo td { min-width: 12rem; }
.demo td div { display: flex; align-items: center; gap: .4rem; white-space: nowrap; font-size: 12px; }
.demo .key { display: inline-block; width: .75rem; height: .75rem; margin: 0 .3rem 0 .8rem; }
"""


def write(path: Path, data: Dataset, results: Sequence[Result]) -> None:
    """Writes the page."""
    title = f"Dovetail demo: TPC-DS scale {data.scale:g}"
    shared = resources.files("dovetail.report").joinpath("style.css").read_text(encoding="utf-8")
    keys = [
        tag("span", "", class_="key", style=f"background:{color}") + text(mode.title)
        for mode, color in zip(MODES, COLORS, strict=True)
    ]
    body = tag(
        "div",
        tag("style", shared + STYLE),
        tag("h1", text(title)),
        tag("p", text(sentence(results))),
        tag("p", *keys, text(" The bars of a query are relative to its largest value."), class_="soft"),
        _bars(results),
        tag("h2", "Join orders"),
        *(_orders(result) for result in results),
        class_="dovetail demo",
    )
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    head = f"<head>{meta}{tag('title', text(title))}</head>"
    path.write_text(
        f'<!DOCTYPE html>\n<html lang="en">{head}<body>{tag("main", body)}</body></html>\n', encoding="utf-8"
    )


def _bars(results: Sequence[Result]) -> str:
    columns = {"rows out of joins": "join_rows", "seconds": "median_seconds"}
    header = tag("tr", *(tag("th", text(title)) for title in ("query", *columns, "answer")))
    rows = [
        tag(
            "tr",
            tag("th", text(result.name), scope="row"),
            *(tag("td", *_bar(result, what)) for what in columns.values()),
            tag("td", text("; ".join(result.differences) or "the same")),
        )
        for result in results
    ]
    sums = [
        tag("td", text(" → ".join(_number(total(results, mode, what), what) for mode in MODES)))
        for what in columns.values()
    ]
    rows.append(tag("tr", tag("th", "all", scope="row"), *sums, tag("td", "")))
    return tag("div", tag("table", tag("thead", header), tag("tbody", *rows)), class_="scroll")


def _bar(result: Result, what: str) -> list[str]:
    most = max(float(getattr(run, what)) for run in result.runs.values()) or 1.0
    bars = []
    for mode, color in zip(MODES, COLORS, strict=True):
        value = float(getattr(result.runs[mode], what))
        width = FULL * value / most / 2  # the number needs the other half
        label = f"{mode.title}: {_number(value, what)}"
        bar = tag("span", "", class_="bar", style=f"width:{width:.1f}%;background:{color}")
        bars.append(tag("div", bar, text(_number(value, what)), title=label))
    return bars


def _number(value: float, what: str) -> str:
    return f"{value:.2f}" if what == "median_seconds" else f"{value:,.0f}"


def _orders(result: Result) -> str:
    lines = [
        tag(
            "tr",
            tag("th", text(mode.title), scope="row"),
            tag("td", *(tag("div", tag("code", text(o))) for o in run.orders)),
        )
        for mode, run in result.runs.items()
    ]
    state = "order changed" if result.changed else "order kept"
    return tag("details", tag("summary", text(f"{result.name}: {state}")), tag("table", tag("tbody", *lines)))
