"""The tables of `times`, from the JSON that it writes: equal plans, spreads, causes."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail_bench.queries import Query
from dovetail_bench.report import Page
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, SPARK, SPARK_CBO, Mode
from dovetail_bench.times import passed, seen_once
from dovetail_bench.times_report import late, number_of_runs, read, stopped_early, targets, write_page
from dovetail_bench.verdict import DIFFERENT, FAILED, SAME, TIE_ORDER, Verdict


def _run(seconds: float, rows: int = 100, shuffled: int = 1 << 20, counted: bool = True, digest: str = "0") -> Any:
    return {
        "rows": 1,
        "join_rows": rows,
        "shuffle_bytes": shuffled,
        "seconds": seconds,
        "planning_ms": 10.0,
        "dovetail_ms": 2_000.0,
        "orders": ["(a b)"],
        "digest": {"rows": 1, "hash": digest, "sums": {}},
        "round": 0,
        "place": 0,
        "plan": "p",
        "counted": counted,
    }


def _rounds(runs: dict[str, int]) -> dict[str, Any]:
    """Results of queries that ran so often in each mode; all plans differ."""
    modes = (SPARK, SPARK_CBO, DOVETAIL, DOVETAIL_BARE)
    found = {query: {mode.name: [_run(1.0)] * number for mode in modes} for query, number in runs.items()}
    return {"failures": {}, "runs": found, "equal plans": {}, "not balanced": []}


def _body(ours: list[Any], equal: tuple[str, ...] = ()) -> dict[str, Any]:
    spark = [_run(50.0, counted=False), _run(9.0), _run(10.0), _run(12.0)]
    runs = {SPARK.name: spark, SPARK_CBO.name: spark, DOVETAIL.name: ours, DOVETAIL_BARE.name: [_run(5.0)]}
    for run in ours:
        run["plan"] = "p" if equal else "o"
    other = {"BroadcastHashJoin": 2, "Exchange": 1, "SortMergeJoin": 1}
    plans = {"p": {"BroadcastHashJoin": 3, "Exchange": 1}, "o": other}
    body = {"failures": {}, "plans": {"q": plans}, "runs": {"q": runs}}
    return {**body, "equal plans": {"q": list(equal)}, "not balanced": []}


def test_times_are_medians_of_the_runs_that_count() -> None:
    results = read(_body([_run(7.0), _run(5.0), _run(6.0)]))
    assert results.seconds("q", SPARK) == 10.0
    assert results.spread("q", SPARK) == (9.0, 12.0)
    assert results.total(DOVETAIL, lambda p: p.seconds) == 6.0


def test_an_equal_plan_counts_as_plain_spark_and_its_own_planning() -> None:
    results = read(_body([_run(70.0)], (DOVETAIL.name,)))
    assert results.seconds("q", DOVETAIL) == 12.0
    assert results.spread("q", DOVETAIL) == (11.0, 14.0)
    assert [line["cause"] for line in late(results, DOVETAIL)] == ["the same plan; planning"]


@pytest.mark.parametrize(
    ("run", "cause"),
    [
        (_run(20.0), "neither more join rows nor more bytes shuffled"),
        (_run(20.0, rows=200), "more join rows"),
        (_run(20.0, rows=200, shuffled=1 << 30), "more join rows, more bytes shuffled"),
    ],
)
def test_a_slower_query_is_listed_with_its_cause(run: Any, cause: str) -> None:
    results = read(_body([run]))
    (line,) = late(results, DOVETAIL)
    other = "another plan (BroadcastHashJoin 3 → 2, SortMergeJoin 0 → 1)"
    assert (line["query"], line["cause"], line["ranges overlap"]) == ("q", f"{other}; {cause}", False)
    assert [t["hit"] for t in targets(results) if t["target"].startswith("Dovetail: no query over")] == [False]


def test_ten_percent_alone_or_half_a_second_alone_is_not_slower() -> None:
    assert late(read(_body([_run(10.9)])), DOVETAIL) == []


def test_files_without_rounds_are_read_too() -> None:
    body = _body([_run(20.0)])
    del body["equal plans"], body["plans"]
    for runs in body["runs"]["q"].values():
        for run in runs:
            for key in ("round", "place", "plan", "counted"):
                run.pop(key, None)
    results = read(body)
    assert results.seconds("q", SPARK) == 11.0
    assert [line["cause"].split(";")[0] for line in late(results, DOVETAIL)] == ["plans not compared"]


def test_the_page_names_answers_that_differ_in_any_run() -> None:
    page = Page("times", "Title")
    body = _body([_run(5.0, digest="1"), _run(5.0)])
    verdict = {"query": "q", "verdict": "tie: limit"}
    write_page(page, body, [verdict])
    text = "\n".join(page._parts)
    assert "| q | Dovetail | " in text.split("## Answers whose digest")[1]
    assert "| q | tie: limit |" in text
    assert "| Spark CBO | 1 | 0 | none |" in text


@pytest.mark.parametrize(
    ("runs", "words", "few"),
    [
        ({"a": 1, "b": 1}, "1", ["a", "b"]),
        ({"a": 1, "b": 1, "c": 2}, "1 (c: 2)", ["a", "b", "c"]),
        ({"a": 4, "b": 4}, "4", []),
        ({**dict.fromkeys("abcd", 3), **dict.fromkeys("efgh", 4)}, "3 to 4", []),
    ],
)
def test_the_page_of_a_stopped_run_says_so(runs: dict[str, int], words: str, few: list[str]) -> None:
    body = _rounds(runs)
    results = read(body)
    assert number_of_runs(results) == words
    assert stopped_early(results) == few
    page = Page("times", "Title")
    write_page(page, body, [])
    text = "\n".join(page._parts)
    assert ("The run was stopped before its rounds were complete" in text) == bool(few)
    assert (f"Runs of each query and mode: {words}." in text) == bool(few)
    assert ("each goes first equally often" in text) == (not few)


def test_queries_whose_plans_are_all_equal_need_one_run() -> None:
    body = _rounds({"a": 1}) | {"equal plans": {"a": [SPARK_CBO.name, DOVETAIL.name, DOVETAIL_BARE.name]}}
    assert stopped_early(read(body)) == []


@pytest.mark.parametrize(
    ("text", "verdict", "after"),
    [
        ("SELECT a FROM t", SAME, DIFFERENT),
        ("SELECT a FROM t LIMIT 100", SAME, DIFFERENT),
        ("SELECT a FROM t ORDER BY b LIMIT 7", SAME, SAME),
        ("SELECT a FROM t", TIE_ORDER, TIE_ORDER),
        ("SELECT a FROM t ORDER BY b LIMIT 7", DIFFERENT, DIFFERENT),
    ],
)
def test_an_answer_that_differs_once_is_wrong_where_no_limit_cuts(text: str, verdict: str, after: str) -> None:
    found = Verdict("tpch", "q1", "spark", "dovetail", verdict, 7, True)
    assert seen_once(Query("tpch", "q1", text), found).verdict == after


@pytest.mark.parametrize(("verdict", "right"), [(SAME, True), (TIE_ORDER, True), (DIFFERENT, False), (FAILED, False)])
def test_the_command_fails_on_a_wrong_answer(verdict: str, right: bool) -> None:
    found = Verdict("tpch", "q1", "spark", "dovetail", verdict, 1, True)
    assert passed(read(_body([_run(5.0)])), [found]) == right


@pytest.mark.parametrize(("mode", "right"), [(SPARK_CBO, True), (DOVETAIL, False), (DOVETAIL_BARE, False)])
def test_the_command_fails_where_dovetail_does(mode: Mode, right: bool) -> None:
    assert passed(read(_body([_run(5.0)]) | {"failures": {"q": {mode.name: "boom"}}}), []) == right
