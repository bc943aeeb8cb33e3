"""Which targets are missed, and a run of one query with a setting on and off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_process import SMALL, python

from dovetail_bench.metrics import Profile
from dovetail_bench.setting_gains import OFF, ON, SettingComparison, targets


def compared(query: str, off: float, on: float, digest: str = "a") -> SettingComparison:
    """A query with one run with each value; with the setting, its answer has this digest."""
    found = SettingComparison(query)
    for value, seconds, answer in ((OFF, off, "a"), (ON, on, digest)):
        digests = {"rows": 1, "hash": answer, "sums": {}}
        found.runs[value].append(Profile(1, 10, 0, seconds, 1.0, 0.5, (), digests))
    return found


def test_targets_name_queries_that_differ_fail_or_are_slower() -> None:
    assert all(t["hit"] for t in targets([compared("q", 2.0, 2.4), compared("tiny", 0.1, 0.3)]))
    failed = compared("gone", 1.0, 1.0)
    failed.failures[ON] = "x"
    missed = targets([compared("slow", 2.0, 2.6), compared("other", 1.0, 1.0, digest="b"), failed])
    assert [t["measured"] for t in missed if not t["hit"]] == ["other", "gone", "slow"]


@pytest.mark.primary
@pytest.mark.usefixtures("maven")
def test_only_queries_with_two_plans_run(data_dir: Path, tmp_path: Path) -> None:
    places = ("--data-dir", str(data_dir), "--results", str(tmp_path), "--rounds", "2")
    setting = ("--setting", "spark.dovetail.reducers.always", "--queries", "q37", "q9")
    run = python("-m", "dovetail_bench.setting_gains", "--dirty", *SMALL, *places, *setting)
    assert run.returncode == 0, run.stderr[-5000:]
    body = json.loads(next(tmp_path.glob("*.json")).read_text(encoding="utf-8"))
    assert body["planned"] == 2
    # q9 has no join
    assert [c["query"] for c in body["compared"]] == ["q37"]
    assert all(len(runs) == 2 for runs in body["compared"][0]["runs"].values())
