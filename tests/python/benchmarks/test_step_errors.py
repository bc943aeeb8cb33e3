"""The page of `estimation`: tables without statistics beside analyzed ones, and every miss by name."""

from __future__ import annotations

from dovetail_bench.accuracy import EstimatePair
from dovetail_bench.report import Page
from dovetail_bench.session import DOVETAIL_BARE, DOVETAIL_ONE_PASS
from dovetail_bench.step_errors import _steps, misses, targets, write


def _step(value: float, true: int, query: str = "q1") -> EstimatePair:
    return EstimatePair(query, "a,b", 1, value, true)


def test_the_joins_of_the_plan_that_ran_are_compared() -> None:
    joins = [
        {"relations": ["a", "b"], "rows": {"value": 10.0}, "actual_rows": 40},
        {"relations": ["a", "b", "c"], "rows": {"value": 5.0}},  # has no actual rows
    ]
    kept = {"before": {"joins": joins}}
    assert list(_steps("q1", kept)) == [EstimatePair("q1", "a,b", 1, 10.0, 40)]
    assert list(_steps("q1", {"before": {"joins": []}, "after": {"joins": joins}})) == list(_steps("q1", kept))
    assert list(_steps("q1", {"status": "left_alone"})) == []


def test_only_collected_statistics_have_targets_and_misses_are_all_named() -> None:
    bare = [_step(1.0, 1_000, "far"), _step(1.0, 100, "less far"), _step(1.0, 12)]
    steps = {DOVETAIL_BARE.name: bare, DOVETAIL_ONE_PASS.name: [_step(10.0, 11)]}
    assert [step.query for step in misses(bare)] == ["far", "less far"]
    assert [target["hit"] for target in targets(steps)] == [True, True]
    assert [target["hit"] for target in targets({DOVETAIL_ONE_PASS.name: bare})] == [False, False]
    assert targets({}) == []
    page = Page("estimation", "Title")
    write(page, steps)
    text = "\n".join(page._parts)
    assert "| Dovetail, nothing analyzed | 3 | 100.00 |" in text
    assert "| far | a, b | 1.00 | 1,000 | 1,000.00 |" in text
    assert "| Dovetail, one pass | 1 | 1.10 |" in text
