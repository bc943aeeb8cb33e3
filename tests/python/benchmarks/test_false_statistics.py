"""Which counts are given, which targets are missed, and a run of one query."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_process import SMALL, python

from dovetail_bench.false_statistics import WAYS, Measurement, false_rows, targets
from dovetail_bench.metrics import Profile


def measured(query: str, *seconds: float, digest: str = "a") -> Measurement:
    """A query with one run in each way; its last run has this digest."""
    found = Measurement(query)
    for number, (way, took) in enumerate(zip(WAYS, seconds, strict=True)):
        answer = {"rows": 1, "hash": digest if number == 3 else "a", "sums": {}}
        found.runs[way.name].append(Profile(1, 10, 0, took, 1.0, 0.5, (), answer))
    return found


def test_counts_are_wrong_in_both_directions_and_the_same_in_each_run() -> None:
    found = {table: false_rows(table, 5_000_000, 1000, 1) for table in ("a", "b", "c", "d", "e", "f", "g", "h")}
    assert set(found.values()) == {5_000, 5_000_000_000}
    assert found == {table: false_rows(table, 5_000_000, 1000, 1) for table in found}
    assert {false_rows(table, 5, 1000, 1) for table in found} == {1, 5_000}


def test_targets_name_queries_that_differ_or_fail() -> None:
    assert all(t["hit"] for t in targets([measured("q", 1.0, 1.0, 9.0, 1.5)], {}))
    missed = targets(
        [measured("slow", 1.0, 1.0, 9.0, 1.6), measured("other", 0.1, 1, 1, 0.1, digest="b")], {"gone": "x"}
    )
    assert [t["measured"] for t in missed if not t["hit"]] == [pytest.approx(1.7 / 1.1), "other", "gone"]


@pytest.mark.primary
@pytest.mark.usefixtures("maven")
def test_every_query_runs_in_four_ways(data_dir: Path, tmp_path: Path) -> None:
    places = ("--data-dir", str(data_dir), "--results", str(tmp_path))
    run = python("-m", "dovetail_bench.false_statistics", "--dirty", *SMALL, *places, "--queries", "q37")
    assert run.returncode == 0, run.stderr[-5000:]
    body = json.loads(next(tmp_path.glob("*.json")).read_text(encoding="utf-8"))
    assert [r["query"] for r in body["runs"]] == ["q37"]
    assert all(len(found) == 1 for r in body["runs"] for found in r["runs"].values())
