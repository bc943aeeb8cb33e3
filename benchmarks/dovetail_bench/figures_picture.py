"""The picture of README.md: join rows and seconds of each query, plain Spark against Dovetail, as SVG.

The code writes SVG itself, as in the report pages: the text is the same on every machine, so that a test can compare it
with the results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dovetail.report.markup import label, line, picture, tag, text
from dovetail_bench.figures_data import JOIN_ROWS, SECONDS, Measure, title
from dovetail_bench.join_rows_report import Results
from dovetail_bench.session import Mode

WIDTH, HEIGHT = 860.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 10.0, 40.0, 34.0

# Gray for plain Spark, blue for Dovetail; both are legible on white and on dark pages.
COLORS = ("#9aa0a6", "#2f7dd1")


@dataclass(frozen=True)
class Part:
    """One panel of the picture.

    Attributes:
        heading: What it shows.
        what: The measure.
        unit: Unit of the axis.
        divisor: How many units of the measure are one of the axis.
        least: Lower end of the logarithmic axis, in its unit. Smaller values are drawn as this.
    """

    heading: str
    what: Measure
    unit: str
    divisor: float
    least: float


PARTS = (Part("join rows", JOIN_ROWS, "M", 1e6, 0.01), Part("seconds", SECONDS, "s", 1.0, 0.5))


def bars(results: Results, modes: tuple[Mode, Mode]) -> str:
    """Two panels, one below the other. Queries are sorted by what plain Spark needs, the most on the left."""
    panels = [_panel(results, modes, number, part) for number, part in enumerate(PARTS)]
    words = f"Join rows and seconds per query: {title(modes[0])} and {title(modes[1])}"
    style = "text{font:12px system-ui,sans-serif;fill:#5f6b76}"
    return picture(WIDTH, 2 * HEIGHT, words, tag("style", style), *panels) + "\n"


def _panel(results: Results, modes: tuple[Mode, Mode], number: int, part: Part) -> str:
    what, unit, divisor, least = part.what, part.unit, part.divisor, part.least
    values = {q: [max(results.value(q, mode, what) / divisor, least) for mode in modes] for q in results.complete}
    order = sorted(values, key=lambda q: (-values[q][0], q))
    top, low, high = number * HEIGHT + TOP, math.log10(least), math.log10(max(max(v) for v in values.values()))
    height, step = HEIGHT - TOP - BOTTOM, (WIDTH - LEFT - RIGHT) / len(order)

    def y(value: float) -> float:
        return top + height * (1 - (math.log10(value) - low) / (high - low))

    parts = [label(LEFT, top - 22, f"{part.heading} per query (logarithmic), TPC-DS scale 10", font_weight="bold")]
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = y(10.0**power)
        parts.append(line(LEFT, at, WIDTH - RIGHT, at, stroke_opacity=0.25))
        parts.append(label(LEFT - 8, at + 4, f"{10.0**power:,g} {unit}", text_anchor="end"))
    for place, query in enumerate(order):
        told = ", ".join(f"{title(mode)} {value:,.2f} {unit}" for mode, value in zip(modes, values[query], strict=True))
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
    sums = [results.total(mode, what) / divisor for mode in modes]
    for side, (mode, total, color) in enumerate(zip(modes, sums, COLORS, strict=True)):
        x = LEFT + side * 300
        parts.append(tag("rect", x=x, y=top + height + 12, width=12.0, height=12.0, fill=color))
        parts.append(label(x + 18, top + height + 22, f"{title(mode)}: {total:,.0f} {unit} in all"))
    return tag("g", *parts)
