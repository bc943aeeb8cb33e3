"""The picture of README.md: rows out of joins and seconds of every query, plain Spark against Dovetail, by Altair.

The file says from which data and by which version of this module it was drawn. It is drawn again where one of them has
changed, and never because another version of the library draws other bytes.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.errors import DovetailError
from dovetail_bench.results_files import ResultsFiles
from dovetail_bench.session import DOVETAIL_BARE, SPARK
from dovetail_bench.times_report import read

if TYPE_CHECKING:
    import altair

NAME = "picture"
PLACE = Path("docs/images/benchmarks.svg")

# The suite and scale that the picture is of.
FILE = "times-tpcds-sf10"

# Edge of a panel and size of a point, in pixels: two panels fit into the width of a page.
EDGE = 300
POINT = 35

# Logarithms need numbers above zero: queries without a join count as one row.
LEAST_ROWS = 1

BLUE, RED = "#1f5aa6", "#c0392b"


def data(results: ResultsFiles) -> list[dict[str, Any]]:
    """One entry per query and measure."""
    found = read(results.of(FILE).body)
    rows = []
    for query in found.complete:
        pairs = {
            "rows": [max(found.rows(query, mode), LEAST_ROWS) for mode in (SPARK, DOVETAIL_BARE)],
            "seconds": [round(found.seconds(query, mode), 3) for mode in (SPARK, DOVETAIL_BARE)],
        }
        for measure, (plain, ours) in pairs.items():
            rows.append({"query": query, "measure": measure, "spark": plain, "dovetail": ours, "more": ours > plain})
    return rows


def markdown(results: ResultsFiles, page: Path, root: Path) -> str:
    """The picture as a page shows it, with its figures in words."""
    found = read(results.of(FILE).body)
    place = Path(os.path.relpath(root / PLACE, page.parent)).as_posix()
    fewer = sum(found.rows(q, DOVETAIL_BARE) < found.rows(q, SPARK) for q in found.complete)
    more = sum(found.rows(q, DOVETAIL_BARE) > found.rows(q, SPARK) for q in found.complete)
    words = (
        f"{len(found.complete)} TPC-DS queries at scale 10, nothing analyzed: fewer rows out of joins in {fewer}, "
        f"more in {more}, the same in the others"
    )
    return f"![{words}]({place})"


def up_to_date(picture: Path, results: ResultsFiles) -> bool:
    """Whether the file was drawn from this data by this module."""
    return picture.exists() and picture.read_text(encoding="utf-8").endswith(_mark(results))


def _mark(results: ResultsFiles) -> str:
    drawn = json.dumps(data(results), sort_keys=True) + Path(__file__).read_text(encoding="utf-8")
    return f"<!-- drawn from {results.of(FILE).stem}, {sha256(drawn.encode()).hexdigest()} -->\n"


def draw(picture: Path, results: ResultsFiles) -> None:
    """Writes the file."""
    try:
        chart = _chart(results)
        picture.parent.mkdir(parents=True, exist_ok=True)
        chart.save(str(picture), format="svg")
    except ImportError as error:
        raise DovetailError(f"the picture is drawn by Altair: pip install 'altair[save]' ({error})") from error
    drawn = picture.read_text(encoding="utf-8").rstrip("\n")
    picture.write_text(f"{drawn}\n{_mark(results)}", encoding="utf-8")


def _chart(results: ResultsFiles) -> altair.HConcatChart:
    import altair  # here, for all but this works without it

    rows = data(results)

    def panel(measure: str, title: str) -> altair.LayerChart:
        points = [row for row in rows if row["measure"] == measure]
        ends = [value for row in points for value in (row["spark"], row["dovetail"])]
        scale = altair.Scale(type="log", domain=[min(ends), max(ends)])
        base = altair.Chart(altair.Data(values=points)).mark_circle(size=POINT, opacity=0.7)
        color = altair.condition("datum.more", altair.value(RED), altair.value(BLUE))
        marks = base.encode(
            x=altair.X("spark:Q", title=f"{title}, plain Spark", scale=scale),
            y=altair.Y("dovetail:Q", title=f"{title}, Dovetail", scale=scale),
            color=color,
        )
        line = [{"spark": end, "dovetail": end} for end in (min(ends), max(ends))]
        equal = altair.Chart(altair.Data(values=line)).mark_line(color="gray", strokeDash=[4, 4])
        diagonal = equal.encode(x="spark:Q", y="dovetail:Q")
        return altair.layer(diagonal, marks).properties(width=EDGE, height=EDGE)

    title = altair.TitleParams(
        "TPC-DS scale 10, a point per query, nothing analyzed",
        subtitle="below the dashed line: less with Dovetail; red: more",
        anchor="start",
    )
    panels = altair.hconcat(panel("rows", "rows out of joins"), panel("seconds", "seconds"))
    return panels.properties(title=title, background="white")
