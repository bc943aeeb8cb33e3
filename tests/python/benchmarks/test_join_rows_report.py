"""The table of join rows: totals, targets, and every regression by name."""

from __future__ import annotations

import pytest

from dovetail_bench.join_rows_report import Results, regressions, slower, targets, write_page
from dovetail_bench.metrics import Profile
from dovetail_bench.report import Page
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, DOVETAIL_ONE_PASS, SPARK, SPARK_CBO

MODES = (SPARK, SPARK_CBO, DOVETAIL, DOVETAIL_BARE, DOVETAIL_ONE_PASS)


def _results(rows: dict[str, tuple[int, int, int, int, int]], seconds: float = 1.0) -> Results:
    def profile(join_rows: int, mode_seconds: float) -> Profile:
        digest = {"rows": 1, "hash": "0", "sums": {}}
        return Profile(1, join_rows, 0, mode_seconds, 10.0, 1.0, ("(a b)",), digest)

    measured = {
        query: {
            mode.name: [profile(n, seconds if mode is DOVETAIL else 1.0)] for mode, n in zip(MODES, by, strict=True)
        }
        for query, by in rows.items()
    }
    return Results(MODES, measured, {}, 0.0, 0.0)


def _missed(results: Results) -> list[str]:
    return [target["target"] for target in targets(results, "tpcds", 1.0) if not target["hit"]]


def test_a_regression_is_against_the_better_of_the_two_and_above_the_threshold() -> None:
    results = _results(
        {
            "worse than the CBO": (900_000, 200_000, 400_000, 900_000, 100_000),
            "worse than Spark": (200_000, 900_000, 400_000, 200_000, 100_000),
            "too small to count": (1_000, 1_000, 90_000, 1_000, 1_000),
            "within the margin": (300_000, 300_000, 440_000, 300_000, 300_000),
        }
    )
    assert [line["query"] for line in regressions(results, DOVETAIL)] == ["worse than the CBO", "worse than Spark"]
    assert [line["query"] for line in regressions(results, DOVETAIL_BARE)] == ["worse than the CBO"]
    assert [line["query"] for line in regressions(results, SPARK_CBO)] == ["worse than Spark"]
    assert _missed(results) == [
        "geometric mean per query at most 0.45 of plain Spark",
        "no query with over 100,000 join rows above 1.5x of the better of Spark and Spark CBO",
    ]


def test_targets_are_hit_by_good_results_and_missed_by_a_failure() -> None:
    results = _results({"a": (1_000_000, 500_000, 100_000, 110_000, 90_000), "none": (0, 0, 0, 0, 0)})
    assert results.geometric_mean(DOVETAIL) == pytest.approx((0.1 * 1) ** 0.5)
    assert _missed(results) == []
    failed = Results(MODES, results.measured, {"b": {"dovetail": "boom"}}, 0.0, 0.0)
    assert _missed(failed) == ["all queries run in all modes"]


@pytest.mark.parametrize(
    ("suite", "scale", "limited"), [("tpcds", 1.0, True), ("tpcds", 10.0, False), ("tpch", 1.0, False)]
)
def test_the_number_of_join_rows_is_limited_where_the_limit_was_set(suite: str, scale: float, limited: bool) -> None:
    many = targets(_results({"a": (200_000_000,) * 5}), suite, scale)
    assert [t["hit"] for t in many if t["target"].startswith("sum of join rows")] == [False] * limited


@pytest.mark.parametrize(
    ("bare", "one_pass", "missed"), [(114, 100, []), (116, 100, ["bare"]), (114, 101, ["one pass"])]
)
def test_statistics_without_analyze_are_judged_by_those_with_it(bare: int, one_pass: int, missed: list[str]) -> None:
    names = {"bare": DOVETAIL_BARE.title, "one pass": DOVETAIL_ONE_PASS.title}
    said = _missed(_results({"a": (1_000, 1_000, 100, bare, one_pass)}))
    assert [any(name in line for line in said) for name in names.values()] == [word in missed for word in names]


@pytest.mark.parametrize(("seconds", "named"), [(1.2, False), (1.6, True)])
def test_slower_queries_are_named(seconds: float, named: bool) -> None:
    assert bool(slower(_results({"a": (1, 1, 1, 1, 1)}, seconds), DOVETAIL)) == named


def test_a_query_that_did_not_run_everywhere_is_in_no_total() -> None:
    results = _results({"a": (10, 10, 10, 10, 10)})
    part = {**results.measured, "b": {SPARK.name: results.measured["a"][SPARK.name]}}
    results = Results(MODES, part, {"b": {"cbo": "MatchError"}}, 0.0, 0.0)
    assert results.complete == ["a"]
    page = Page("join_rows", "Title")
    write_page(page, results, targets(results, "tpcds", 1.0))
    text = "\n".join(page._parts)
    assert "| b | cbo | MatchError |" in text
    assert "1 queries ran in all modes" in text
