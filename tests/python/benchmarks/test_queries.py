"""Reads the outermost ORDER BY and LIMIT of a query's text, and loads the suites that Spark publishes."""

from __future__ import annotations

import pytest

from dovetail.errors import DovetailError
from dovetail_bench.queries import FOLDERS, Query, load


@pytest.mark.parametrize(
    ("text", "order_by", "without_limit"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT a FROM t ORDER BY a LIMIT 10", ["a"], "SELECT a FROM t ORDER BY a"),
        ("SELECT a FROM t\nORDER BY a DESC,\n  b\nLIMIT 100 ;\n", ["a", "b"], "SELECT a FROM t\nORDER BY a DESC,\n  b"),
        (
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3)",
            [],
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3)",
        ),
        (
            "SELECT rank() OVER (ORDER BY a) FROM t ORDER BY CASE WHEN x = f(y, z) THEN b END, c asc nulls first",
            ["CASE WHEN x = f(y, z) THEN b END", "c"],
            "SELECT rank() OVER (ORDER BY a) FROM t ORDER BY CASE WHEN x = f(y, z) THEN b END, c asc nulls first",
        ),
        ("SELECT rank() OVER (ORDER BY a) FROM t", [], "SELECT rank() OVER (ORDER BY a) FROM t"),
    ],
)
def test_outermost_clauses(text: str, order_by: list[str], without_limit: str) -> None:
    query = Query("suite", "q", text)
    assert query.order_by() == order_by
    assert query.without_limit().strip() == without_limit


@pytest.mark.usefixtures("maven")
@pytest.mark.parametrize(("suite", "number"), [("tpcds", 103), ("tpcds-v2.7", 32), ("tpch", 22), ("ssb", 13)])
def test_suites_are_complete_and_in_their_natural_order(suite: str, number: int) -> None:
    names = [query.name for query in load(suite)]
    assert len(names) == number
    assert names == sorted(names, key=lambda n: (int("".join(filter(str.isdigit, n))), n))
    assert {folder for folder, _ in FOLDERS.values()} == {"tpcds", "tpcds-v2.7.0", "tpch"}


@pytest.mark.usefixtures("maven")
def test_named_queries_and_unknown_ones() -> None:
    assert [query.name for query in load("tpcds", ["q72", "q14a"])] == ["q72", "q14a"]
    with pytest.raises(DovetailError, match="q100"):
        load("tpcds", ["q100"])
    with pytest.raises(DovetailError, match="no query suite"):
        load("tpcds2")
