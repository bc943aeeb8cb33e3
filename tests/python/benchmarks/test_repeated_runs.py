"""Which runs count as slower or different, and a run over two queries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_process import SMALL, python

from dovetail_bench.metrics import Profile
from dovetail_bench.repeated_runs import Runs, complete, targets


def profile(seconds: float, digest: str = "a") -> Profile:
    """A run that differs from others in its time and its answer."""
    return Profile(1, 10, 0, seconds, 1.0, 0.5, (), {"rows": 1, "hash": digest, "sums": {}})


def test_a_query_is_slower_if_it_loses_a_tenth_and_half_a_second() -> None:
    def runs(*seconds: float) -> Runs:
        return Runs("q", [profile(1.0)] * len(seconds), [profile(s) for s in seconds])

    assert not runs(1.0, 1.4).slower
    assert not runs(10.0, 10.9).slower
    assert runs(1.0, 1.7).slower
    assert not runs(1.0, 9.0, 1.2).slower


def test_targets_name_queries_that_are_slower_different_or_failing() -> None:
    good = Runs("good", [profile(1.0)] * 2, [profile(2.0), profile(1.0)])
    slow = Runs("slow", [profile(1.0)] * 2, [profile(1.0), profile(2.0)])
    other = Runs("other", [profile(1.0)] * 2, [profile(1.0, "b"), profile(1.0)])
    assert all(t["hit"] for t in targets([good], {}))
    missed = [t["measured"] for t in targets([good, slow, other], {"gone": "error"}) if not t["hit"]]
    assert missed == [1.0, "slow", "other", "gone"]


def test_a_round_that_was_stopped_does_not_count() -> None:
    whole = Runs("a", [profile(1.0)] * 2, [profile(1.0), profile(2.0)])
    stopped = Runs("b", [profile(3.0)] * 2, [profile(3.0)])
    assert [[p.seconds for p in r.learned] for r in complete([whole, stopped])] == [[1.0], [3.0]]
    assert complete([whole]) == [whole]
    assert complete([]) == []


@pytest.mark.primary
@pytest.mark.usefixtures("maven")
def test_every_round_runs_without_history_and_with_it(data_dir: Path, tmp_path: Path) -> None:
    places = ("--data-dir", str(data_dir), "--results", str(tmp_path))
    run = python(
        "-m", "dovetail_bench.repeated_runs", "--dirty", *SMALL, *places, "--queries", "q6", "q37", "--rounds", "2"
    )
    assert run.returncode == 0, run.stderr[-5000:]
    body = json.loads(next(tmp_path.glob("*.json")).read_text(encoding="utf-8"))
    assert [r["query"] for r in body["runs"]] == ["q6", "q37"]
    assert all(len(r["plain"]) == len(r["learned"]) == 2 for r in body["runs"])
