"""Equal plans give equal normalized texts, whatever their ids; different plans give different texts."""

from __future__ import annotations

import pytest

from dovetail_bench.executed_plan import normalized, operators


def _plan(final: str, initial: str = "Exchange hashpartitioning(k#1, 2), [plan_id=7]") -> str:
    def below(tree: str) -> str:
        return "\n".join(f"   {line}" for line in tree.splitlines())

    return (
        "== Physical Plan ==\nAdaptiveSparkPlan isFinalPlan=true\n"
        f"+- == Final Plan ==\n{below(final)}\n+- == Initial Plan ==\n{below(initial)}\n\n"
        "== Extended Information (Dovetail) ==\n\n"
    )


JOIN = "*({stage}) BroadcastHashJoin [a#{a}L], [b#{b}L], Inner, BuildRight\n:- {left}\n+- {right}"
SCANS = {
    "left": "FileScan parquet spark_catalog.tpcds_{db}.t[a#{a}L]",
    "right": "BroadcastQueryStage {stage}\n   +- FileScan parquet spark_catalog.tpcds_{db}.u[b#{b}L], [plan_id={p}]",
}


def _join(a: int, b: int, stage: int, plan: int, database: str, text: str = JOIN) -> str:
    names = {"a": a, "b": b, "stage": stage, "p": plan, "db": database}
    return text.format(**{side: scan.format(**names) for side, scan in SCANS.items()}, **names)


def test_ids_stages_and_databases_do_not_matter() -> None:
    one, other = _join(11, 22, 1, 22, "bare"), _join(301, 11, 4, 99, "analyzed")
    assert normalized(_plan(one)) == normalized(_plan(other))


def test_the_initial_plan_does_not_matter_where_all_of_it_ran() -> None:
    final = _join(1, 2, 1, 3, "bare")
    assert normalized(_plan(final)) == normalized(_plan(final, "SortMergeJoin [a#1L], [b#2L], Inner"))


@pytest.mark.parametrize("word", ["EmptyRelation [plan_id=3]", "LocalTableScan <empty>, [k#1]"])
def test_it_does_where_an_input_was_empty_and_what_ran_is_gone(word: str) -> None:
    assert normalized(_plan(word)) != normalized(_plan(word, "SortMergeJoin [a#1L], [b#2L], Inner"))


@pytest.mark.parametrize(
    "other",
    [
        JOIN.replace("BuildRight", "BuildLeft"),
        JOIN.replace("[a#{a}L], [b#{b}L]", "[b#{b}L], [a#{a}L]"),
        JOIN.replace("Broadcast", "Shuffled"),
    ],
)
def test_another_join_is_another_plan(other: str) -> None:
    assert normalized(_plan(_join(1, 2, 1, 3, "bare"))) != normalized(_plan(_join(1, 2, 1, 3, "bare", other)))


def test_two_columns_of_one_name_stay_apart() -> None:
    assert normalized("Project [a#1, a#1]") != normalized("Project [a#1, a#2]")


def test_plans_of_subqueries_are_compared_too() -> None:
    def with_subquery(method: str) -> str:
        inner = _plan(f"{method} [x#5], [y#6]").removeprefix("== Physical Plan ==\n").split("\n\n")[0]
        tree = "\n".join(f":     {line}" for line in inner.splitlines())
        return _plan(f"Filter (a#1 > Subquery #4, [id=#9])\n:  +- Subquery #4, [id=#9]\n{tree}\n+- Scan")

    assert normalized(with_subquery("SortMergeJoin")) != normalized(with_subquery("ShuffledHashJoin"))
    assert "Initial Plan" not in normalized(with_subquery("SortMergeJoin"))
    assert normalized(with_subquery("SortMergeJoin")).endswith("+- Scan")


def test_joins_and_exchanges_are_counted() -> None:
    exchange = "+- Exchange hashpartitioning(a#1L, 2), [plan_id=5]"
    found = operators(normalized(_plan(f"{_join(1, 2, 3, 4, 'bare')}\n{exchange}")))
    assert found == {"BroadcastHashJoin": 1, "Exchange": 1}
