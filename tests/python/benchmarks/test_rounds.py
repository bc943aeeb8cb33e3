"""Rounds are fair: each mode goes first equally often, regardless of which plans are equal."""

from __future__ import annotations

import pytest

from dovetail_bench.metrics import Profile
from dovetail_bench.rounds import LEAST_ROUNDS, Run, Timing, latin_square, orders, rounds_of, to_json
from dovetail_bench.session import SPARK

MODES = (SPARK.name, "cbo", "dovetail", "dovetail_bare")
PROFILE = Profile(1, 10, 100, 1.0, 10.0, 1.0, ("(a b)",), {"rows": 1})


def _timed(plans: dict[str, str], number: int) -> Timing:
    """A query whose modes have these plans in every round."""
    timed = Timing()
    names = list(plans)
    rounds = [(0, next(latin_square(names, number)))]
    for place, mode in enumerate(rounds[0][1]):
        timed.runs.append(Run(mode, 0, place, plans[mode], PROFILE))
    differing = [mode for mode in names if mode not in timed.equal()]
    for turn, row in orders(names, differing, number):
        timed.runs += [Run(mode, turn, place, plans[mode], PROFILE) for place, mode in enumerate(row)]
    return timed


def test_a_square_gives_every_mode_every_place_once() -> None:
    rows = latin_square(MODES, 2)
    square = [next(rows) for _ in MODES]
    assert square[0] == ("dovetail", "dovetail_bare", "spark", "cbo")
    for place in range(len(MODES)):
        assert {row[place] for row in square} == set(MODES)


@pytest.mark.parametrize(("modes", "rounds"), [(2, 4), (3, 3), (4, 4), (5, 5)])
def test_rounds_are_whole_squares_and_at_least_three(modes: int, rounds: int) -> None:
    assert rounds_of(modes) == rounds >= LEAST_ROUNDS


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize(
    ("plans", "runs"),
    [
        (("p", "q", "r", "s"), {"spark": 4, "cbo": 4, "dovetail": 4, "dovetail_bare": 4}),
        (("p", "p", "r", "s"), {"spark": 3, "cbo": 1, "dovetail": 3, "dovetail_bare": 3}),
        (("p", "p", "p", "s"), {"spark": 4, "cbo": 1, "dovetail": 1, "dovetail_bare": 4}),
        (("p", "p", "p", "p"), {"spark": 1, "cbo": 1, "dovetail": 1, "dovetail_bare": 1}),
    ],
)
def test_only_differing_plans_are_timed_again(plans: tuple[str, ...], runs: dict[str, int], number: int) -> None:
    timed = _timed(dict(zip(MODES, plans, strict=True)), number)
    counted = timed.counted()
    assert {mode: sum(run.mode == mode for run in counted) for mode in MODES} == runs
    again = [mode for mode, times in runs.items() if times > 1]
    firsts = {mode: sum(run.place == 0 for run in counted if run.mode == mode) for mode in again}
    assert len(set(firsts.values())) <= 1
    assert timed.balanced()


def test_a_run_that_was_stopped_is_told() -> None:
    timed = _timed(dict(zip(MODES, ("p", "q", "r", "s"), strict=True)), 0)
    del timed.runs[8:]
    assert to_json({"a": timed})["not balanced"] == ["a"]


def test_the_file_keeps_what_does_not_count() -> None:
    timed = _timed(dict(zip(MODES, ("p", "p", "r", "s"), strict=True)), 1)
    body = to_json({"a": timed})
    assert body["equal plans"] == {"a": ["cbo"]}
    assert body["not balanced"] == []
    assert [run["counted"] for run in body["runs"]["a"]["spark"]] == [False, True, True, True]
    assert [run["round"] for run in body["runs"]["a"]["cbo"]] == [0]
