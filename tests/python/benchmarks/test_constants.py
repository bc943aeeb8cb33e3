"""Instances of queries have other constants and the same shape; and a run over a small data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from benchmark_process import python

from dovetail_bench.instances import can_change, instance
from dovetail_bench.join_query import parse
from dovetail_bench.random_tables import seeded

VALUES: dict[str, list[Any]] = {"n": [4, 5, 6], "s": ["it's", "100% x"], "f": [0.5, 2.25], "empty": []}


def drawn(predicate: str, seed: int = 1) -> str:
    """The predicate with other constants."""
    query = parse(f"SELECT count(*) FROM t a, u b WHERE a.k = b.k AND {predicate}")
    changed = instance(query, lambda _table, column: VALUES[column], seeded(str(seed)))
    assert changed.predicates[0].text == "a.k = b.k"
    return changed.predicates[1].text


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("a.n = 1", {"a.n = 4", "a.n = 5", "a.n = 6"}),
        ("a.n <= -1.5", {"a.n <= 4", "a.n <= 5", "a.n <= 6"}),
        ("a.s = 'x'", {"a.s = 'it''s'", "a.s = '100% x'"}),
        ("a.f = '1'", {"a.f = '0.5'", "a.f = '2.25'"}),
        ("a.s LIKE 'xy%'", {"a.s LIKE 'it%'", "a.s LIKE '10%'"}),
        ("a.empty = 1", {"a.empty = 1"}),
    ],
)
def test_constants_become_values_of_the_column(predicate: str, expected: set[str]) -> None:
    assert {drawn(predicate, seed) for seed in range(40)} == expected


def test_a_range_stays_a_range_and_a_list_keeps_its_length() -> None:
    for seed in range(20):
        words = drawn("a.n BETWEEN 1 AND 2", seed).split()
        assert words[1::2] == ["BETWEEN", "AND"]
        assert int(words[2]) <= int(words[4])
        assert drawn("a.n IN (1, 2, 3)", seed).count(",") == 2
        assert drawn("a.s LIKE '%x%'", seed).endswith("%'")


@pytest.mark.parametrize(
    ("predicate", "can"),
    [("a.n = 1", True), ("a.n = a.f", False), ("a.n = 1 AND a.f > b.f", True), ("a.n > b.n", False)],
)
def test_what_has_constants_to_change(predicate: str, can: bool) -> None:
    assert can_change(parse(f"SELECT count(*) FROM t a, u b WHERE a.k = b.k AND {predicate}")) is can


@pytest.mark.primary
@pytest.mark.slow
def test_a_run_over_small_tables(tmp_path: Path) -> None:
    tables, results = tmp_path / "tables", tmp_path / "results"
    tables.mkdir()
    for name in ("t", "u", "w"):
        duckdb.execute(f"COPY (SELECT i % 10 AS k, i % 7 AS n FROM range(50) r(i)) TO '{tables}/{name}.parquet'")
    sql = "SELECT count(*) FROM t a, u b, w c WHERE a.k = b.k AND b.k = c.k AND c.n {}"
    queries = tmp_path / "queries.json"
    queries.write_text(json.dumps([{"name": f"q{i}", "sql": sql.format(p)} for i, p in enumerate(("= 1", "< 2"))]))
    places = ("--tables", str(tables), "--queries", str(queries), "--results", str(results), "--dirty")
    done = python("-m", "dovetail_bench.constants", *places, "--templates", "2", "--instances", "2")
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(next(results.glob("*-constants-queries.json")).read_text())["instances"]
    assert [line["instance"] for line in found] == ["q0 #1", "q1 #1", "q0 #2", "q1 #2"]
    assert all(line["best"] <= min(line["without"], line["learned"]) for line in found)
