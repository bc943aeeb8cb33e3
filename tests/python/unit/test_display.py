"""Display of values: a prompt shows the same as `print`, a notebook shows a table that keeps its own style."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace

import pytest

from dovetail import Advice, ColumnStats, DatabaseStats, LoggedQuery, TableAdvice, TableStats
from dovetail._display import Display, Listing
from dovetail.report import tables

NAMED = ColumnStats("<k>", "int", 18000, 0, "1", "18000", 4, 4, 254, "catalog", "exact")
STATS = TableStats("db.item", 18000, 1_500_000, "catalog", "exact", (NAMED,))
QUERY = LoggedQuery(
    7, datetime.datetime(2026, 1, 2, 3, 4, 5), "SELECT a < b", 1, 1, 0.5, 12.0, 1, 0.25, 10.0, 1234, 2.0, None
)
ITEM = TableAdvice(
    "t", "unknown", ("k",), (), (0,), 0.5, 10, "footer", "never analyzed", "DOVETAIL ANALYZE TABLE t COLUMNS (k)"
)
SHOWN = [STATS, DatabaseStats("db", (STATS,)), Advice(1, (ITEM,)), Advice(1, ()), Listing([QUERY])]


@pytest.mark.parametrize("value", SHOWN, ids=lambda value: type(value).__name__)
def test_a_prompt_shows_what_print_shows(value: Display) -> None:
    assert repr(value) == str(value)
    html = value._repr_html_()
    assert html.startswith('<div class="dovetail"><style>')
    assert html.endswith("</div>")
    # values are escaped
    assert not re.search(r"<k>|a < b", html)


def test_tables_that_are_given_by_path_are_told_apart() -> None:
    names = [f"parquet.`s3a://bucket/warehouse/europe/{name}`" for name in ("sales", "store")]
    advice = Advice(1, tuple(replace(ITEM, table=name) for name in names))
    assert re.findall(r"^(parquet\S+)", str(advice), re.MULTILINE) == [
        "parquet.`s3a:/…/warehouse/europe/sales`",
        "parquet.`s3a:/…/warehouse/europe/store`",
    ]
    # a notebook has room for the whole names
    assert all(name in advice._repr_html_() for name in names)
    without_folders = str(Advice(1, (replace(ITEM, table=f"db.{'a' * 30}{'z' * 30}"),)))
    assert f"\ndb.{'a' * 16}…{'z' * 20}  unknown" in without_folders


def test_a_listing_is_a_tuple_that_shows_a_table() -> None:
    listing = Listing([QUERY])
    assert (listing == (QUERY,), len(listing), listing[0].id) == (True, 1, 7)
    assert "2026-01-02 03:04:05  SELECT a < b" in repr(listing)
    assert re.search(r"1,234 +2\.0 +-$", repr(listing))
    assert repr(Listing[LoggedQuery]()) == "none"


def test_numbers_are_to_the_right_in_notebooks() -> None:
    html = STATS._repr_html_()
    assert '<th scope="col" class="right">distinct</th>' in html
    assert '<td class="right">18,000</td>' in html
    assert "<td>&lt;k&gt;</td>" in html


def test_tables_survive_the_style_of_jupyterlab() -> None:
    """`:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td` has two classes; ours need three to override it."""
    plain = re.sub(r"/\*.*?\*/", "", tables.style(), flags=re.DOTALL)
    rules = [
        (selector.strip(), body)
        for many, body in re.findall(r"([^{}]+)\{([^}]*)\}", plain)
        for selector in many.split(",")
    ]
    cells = [(s, b) for s, b in rules if re.search(r"(^| )(table|tr|th|td|caption)\b", s) or s.endswith(" .right")]
    assert cells
    assert [s for s, _ in cells if s.count(".") < 3] == []
    of = {selector.split()[-1]: body for selector, body in cells}
    assert "table-layout: auto" in of["table"]
    assert "text-align: left" in of["td"]
    assert "text-align: right" in of[".right"]
