"""The picture of README.md: rows out of joins and seconds of each query, plain Spark against Dovetail, as SVG.

The code writes SVG itself, as in the report pages: the text is the same on every machine, so that a test can compare it
with the results.
"""

from __future__ import annotations

import math

from dovetail.report.markup import label, line, picture, tag, text
from dovetail_bench.figures_data import Times

WIDTH, HEIGHT = 860.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 10.0, 40.0, 34.0

# Gray for plain Spark, blue for Dovetail; both are legible on white and on dark pages.
COLORS = ("#9aa0a6", "#2f7dd1")

PARTS = (("rows out of joins", "join_rows", "M", 1e6), ("seconds", "seconds", "s", 1.0))

# Lower ends of the logarithmic axes, in millions of rows and in seconds. Smaller values are drawn as these.
LEAST = {"join_rows": 0.01, "seconds": 0.5}


def bars(times: Times, modes: tuple[str, str]) -> str:
    """Two panels, one below the other. Queries are sorted by what plain Spark needs, the most on the left."""
    panels = [_panel(times, modes, number, *part) for number, part in enumerate(PARTS)]
    words = f"Rows out of joins and seconds per query: {times.titles[modes[0]]} and {times.titles[modes[1]]}"
    style = "text{font:12px system-ui,sans-serif;fill:#5f6b76}"
    return picture(WIDTH, 2 * HEIGHT, words, tag("style", style), *panels) + "\n"


def _panel(times: Times, modes: tuple[str, str], number: int, title: str, what: str, unit: str, divisor: float) -> str:
    least = LEAST[what]
    values = {q: [max(times.value(q, mode, what) / divisor, least) for mode in modes] for q in times.queries}
    order = sorted(values, key=lambda q: (-values[q][0], q))
    top, low, high = number * HEIGHT + TOP, math.log10(least), math.log10(max(max(v) for v in values.values()))
    height, step = HEIGHT - TOP - BOTTOM, (WIDTH - LEFT - RIGHT) / len(order)

    def y(value: float) -> float:
        return top + height * (1 - (math.log10(value) - low) / (high - low))

    parts = [label(LEFT, top - 22, f"{title} per query (logarithmic), TPC-DS scale 10", font_weight="bold")]
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = y(10.0**power)
        parts.append(line(LEFT, at, WIDTH - RIGHT, at, stroke_opacity=0.25))
        parts.append(label(LEFT - 8, at + 4, f"{10.0**power:,g} {unit}", text_anchor="end"))
    for place, query in enumerate(order):
        told = ", ".join(
            f"{times.titles[mode]} {value:,.2f} {unit}" for mode, value in zip(modes, values[query], strict=True)
        )
        marks = [
            tag(
                "rect",
                x=LEFT + place * step + side * step * 0.42,
                y=y(value),
                width=step * 0.4,
                height=max(top + height - y(value), 0.5),
                fill=color,
            )
            for side, (value, color) in enumerate(zip(values[query], COLORS, strict=True))
        ]
        parts.append(tag("g", tag("title", text(f"{query}: {told}")), *marks))
    sums = [sum(times.value(q, mode, what) for q in times.queries) / divisor for mode in modes]
    for side, (mode, total, color) in enumerate(zip(modes, sums, COLORS, strict=True)):
        x = LEFT + side * 300
        parts.append(tag("rect", x=x, y=top + height + 12, width=12.0, height=12.0, fill=color))
        parts.append(label(x + 18, top + height + 22, f"{times.titles[mode]}: {total:,.0f} {unit} in all"))
    return tag("g", *parts)
