"""Random orders cover all trees without cross products; a run of one query in random orders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_process import SMALL, python

from dovetail_bench import random_orders
from dovetail_bench.metrics import Profile
from dovetail_bench.order_robustness import OrderTrial, Spread, targets
from dovetail_bench.random_tables import seeded
from dovetail_bench.setting_gains import OFF, ON


def drawn(names: str, *connected: str) -> list[str]:
    """All orders that are drawn; relations have one letter each."""
    return list(random_orders.orders(names, [frozenset(edge) for edge in connected], seeded("7")))


@pytest.mark.parametrize(
    ("graph", "trees"),
    [
        # bushy trees without cross products, sides not told apart: Catalan numbers for chains, (n - 1)! for stars
        (("ab", "bc", "cd"), 5),
        (("ab", "bc", "cd", "de"), 14),
        (("ab", "ac", "ad"), 6),
        (("ab", "ac", "ad", "bc", "bd", "cd"), 15),
        # a predicate over three relations joins the third one to the other two
        (("ab", "abc"), 1),
    ],
)
def test_every_tree_is_drawn_once(graph: tuple[str, ...], trees: int) -> None:
    found = drawn("".join(sorted(set("".join(graph)))), *graph)
    assert len(found) == len(set(found)) == trees


def test_a_graph_in_two_pieces_has_no_order() -> None:
    assert drawn("abcd", "ab", "cd") == []


def test_equal_columns_connect_each_pair_and_other_predicates_all_together() -> None:
    pairs = [frozenset(pair) for pair in ("ab", "ac", "bc")]
    assert random_orders.edges(["a", "b", "c"], "a.x = b.y = c.z") == pairs
    assert random_orders.edges(["a", "b", "c"], "(a.x + b.y) = c.z") == [frozenset("abc")]
    assert random_orders.edges(["a", "b"], "a.x < b.y") == [frozenset("ab")]


def profiled(seconds: float, answer: str = "a") -> Profile:
    """A run that took this time."""
    return Profile(1, 10, 0, seconds, 1.0, 0.5, (), {"rows": 1, "hash": answer, "sums": {}})


def test_an_order_that_was_ended_counts_as_the_limit() -> None:
    chosen = OrderTrial("", {OFF: profiled(1.0), ON: profiled(1.0)})
    slow = OrderTrial("(a b)", {OFF: None, ON: profiled(3.0)})
    spread = Spread("q", 5, 20.0, [chosen, slow, OrderTrial("(b a)", {OFF: profiled(2.0), ON: profiled(2.5)})])
    assert (spread.seconds(OFF), spread.ended(OFF)) == ([2.0, 20.0], 1)
    assert (spread.seconds(ON), spread.ended(ON)) == ([2.5, 3.0], 0)
    assert all(target["hit"] for target in targets([spread]))
    spread.tried.append(OrderTrial("((a b) c)", {OFF: profiled(1.0), ON: profiled(1.0, "b")}))
    failed = Spread("gone", 3, failure="x")
    assert [target["measured"] for target in targets([spread, failed]) if not target["hit"]] == ["q", "gone"]


@pytest.mark.primary
@pytest.mark.usefixtures("maven")
def test_a_query_runs_in_random_orders(data_dir: Path, tmp_path: Path) -> None:
    places = ("--data-dir", str(data_dir), "--results", str(tmp_path))
    run = python(
        "-m", "dovetail_bench.order_robustness", "--dirty", *SMALL, *places, "--orders", "2", "--queries", "q7"
    )
    assert run.returncode == 0, run.stderr[-5000:]
    body = json.loads(next(tmp_path.glob("*.json")).read_text(encoding="utf-8"))
    (spread,) = body["spreads"]
    assert spread["relations"] == 5
    assert [set(tried["runs"]) for tried in spread["tried"]] == [{OFF, ON}] * 3
    assert len({tried["order"] for tried in spread["tried"]}) == 3
