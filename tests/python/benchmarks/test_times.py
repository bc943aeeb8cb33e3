"""A small run of `dovetail_bench.times`: modes take turns, plans are compared, answers are judged."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

import pytest
from benchmark_process import SMALL, python

from dovetail_bench.rounds import rounds_of

# A query whose joins Dovetail reorders, and one with a join of two tables, which Dovetail leaves alone.
REORDERED, ALIKE = "q5", "q12"


@pytest.mark.primary
@pytest.mark.usefixtures("maven")
def test_every_mode_goes_first_equally_often(data_dir: Path, tmp_path: Path) -> None:
    places = ("--data-dir", str(data_dir), "--results", str(tmp_path))
    queries = ("--suite", "tpch", "--queries", REORDERED, ALIKE)
    run = python("-m", "dovetail_bench.times", "--dirty", *SMALL, *places, *queries)
    files = list(tmp_path.glob("*.json"))
    assert len(files) == 1, run.stderr[-5000:]
    assert run.returncode == 0
    body = json.loads(files[0].read_text())
    assert body["not balanced"] == []
    assert body["failures"] == {}
    later = re.findall(r"round [1-9]\d*, (q\d+):", run.stderr)
    assert later
    assert [query for query, _ in groupby(later)] == sorted(set(later), key=later.index)  # query by query
    assert "dovetail_bare" not in body["equal plans"][REORDERED]
    for query, by_mode in body["runs"].items():
        assert body["planning"][query].keys() == by_mode.keys()
        assert all(len(times) >= 2 for times in body["planning"][query].values())
        timed = {mode for mode in by_mode if mode not in body["equal plans"][query]}
        for mode, runs in by_mode.items():
            counted = [run for run in runs if run["counted"]]
            if mode in timed and len(timed) > 1:
                assert len(counted) == rounds_of(len(timed))
                assert sum(run["place"] == 0 for run in counted) == len(counted) / len(timed)
            else:
                assert [run["round"] for run in counted] == [0]
