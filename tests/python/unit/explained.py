"""Explanations made by hand, for tests of the output formats, also with keys that the current jar does not send."""

from __future__ import annotations

from typing import Any


def estimate(value: float, source: str = "catalog", upper: float | None = None) -> dict[str, Any]:
    return {"value": value, "lower": 0.0, "upper": upper, "source": source}


def join(relations: list[str], rows: float, scan: float = 5.0, **more: Any) -> dict[str, Any]:
    parts = {"exchange": rows, "sort": 0.0, "hash": 2 * rows, "broadcast": 1.0, "output": rows, "scan": scan}
    cost = {**parts, "total": sum(parts.values())}
    condition = f"{relations[-2]}.k = {relations[-1]}.k"
    return {
        "relations": relations,
        "condition": condition,
        "rows": estimate(rows),
        "method": "sort merge",
        "cost": cost,
        **more,
    }


def plan(order: str, joins: list[dict[str, Any]]) -> dict[str, Any]:
    return {"order": order, "cost": sum(j["cost"]["total"] for j in joins), "joins": joins}


def bushy() -> dict[str, Any]:
    """Four relations, reordered into ((d b) (a c)), with actual rows, an outer join, runner-ups and a guessed size."""
    before = [join(["a", "b"], 1e6), join(["a", "b", "c"], 2e6), join(["a", "b", "c", "d"], 10)]
    second = {"method": "broadcast hash", "cost": 99.0}
    after = [
        join(["b", "d"], 50, kind="left outer", actual_rows=200),
        join(["a", "c"], 1000, scan=-300.0, runner_up=second, actual_rows=0),
        join(["a", "b", "c", "d"], 10, actual_rows=10, q_error=1.0),
    ]
    group = {
        "id": 1,
        "status": "reordered",
        "reason": "saves 99.0 % of the estimated cost",
        "algorithm": "dphyp",
        "pairs": 1234,
        "relations": [
            {"name": "a", "rows": estimate(1e6), "bytes": 2.0**30},
            {"name": "b", "rows": estimate(2000, "assumed"), "bytes": 900.0},
            {"name": "c", "rows": estimate(10, "exact", 10), "bytes": None},
            {"name": "d", "rows": None, "bytes": None},
        ],
        "edges": [
            {"relations": ["a", "c"], "condition": "a.k = c.k"},
            {"relations": ["a", "b", "d"], "condition": 'a.k = b.k = d."<k>"'},
        ],
        "before": plan("(((a b) c) d)", before),
        "after": plan("((d b) (a c))", after),
        "runner_up": {"order": "(((a c) d) b)", "cost": 5000.0},
        "at_run_time": [
            {
                "planned": "((a c) b)",
                "order": "((a b) c)",
                "reason": "3 rows of <b>, estimated 2000; saves 60.0 % of the work of these joins",
                "joins": [join(["a", "b"], 70, actual_rows=80), join(["a", "b", "c"], 7)],
            }
        ],
    }
    return report(group)


def reasoned() -> dict[str, Any]:
    """The same with reasons for the methods, and a missing statistic."""
    data = bushy()
    group = data["groups"][0]
    first, second, last = group["after"]["joins"]
    first["why"] = last["why"] = "b is about 30.0 MiB, over the broadcast limit of 10.0 MiB"
    second |= {"method": "sort merge", "why": "c <is> already partitioned by the key"}
    group["missing_statistics"] = [
        {
            "table": "db.b",
            "state": "unknown",
            "columns": ["k", "v"],
            "guessed": ["k"],
            "cost_share": 0.456,
            "reason": "never analyzed; 2,000 rows from assumed",
            "statement": "DOVETAIL ANALYZE TABLE db.b COLUMNS (k, v)",
        }
    ]
    return data


def left_alone() -> dict[str, Any]:
    """A group that was not searched."""
    relations = [{"name": name, "rows": None, "bytes": None} for name in "abc"]
    empty: dict[str, Any] = {"algorithm": None, "pairs": 0, "edges": [], "before": None, "after": None}
    why = "a condition <may fail> & must stay"
    return report({"id": 1, "status": "left_alone", "reason": why, "relations": relations, **empty})


def star(relations: int) -> dict[str, Any]:
    """A fact table with dimensions, joined one after the other in the written order."""
    names = ["store_sales", *(f"customer_demographics#{at}" for at in range(1, relations))]
    joins = [join(names[: at + 1], 10.0 ** (8 - at / 8)) for at in range(1, relations)]
    order = names[0]
    for name in names[1:]:
        order = f"({order} {name})"
    group = {
        "id": 1,
        "status": "kept",
        "reason": "the written order is the best one found",
        "algorithm": "goo",
        "pairs": relations - 1,
        "relations": [{"name": name, "rows": estimate(1e5), "bytes": 1e6} for name in names],
        "edges": [{"relations": [names[0], name], "condition": f"f.k = {name}.k"} for name in names[1:]],
        "before": plan(order, joins),
        "after": None,
    }
    return report(group)


def snowflake() -> dict[str, Any]:
    """Thirty relations: a fact table, nine dimensions, two tables around each, two more. Each arm is joined first."""
    data = star(30)
    (group,) = data["groups"]
    dimensions = [f"dimension_{at}" for at in range(9)]
    arms = [[name, f"{name}_region", f"{name}_class"] for name in dimensions]
    arms[0].append("segment")
    arms[1].append("country")
    edges = [("fact", name) for name in dimensions] + [(arm[0], outer) for arm in arms for outer in arm[1:]]
    order, joins, below = "fact", [], ["fact"]
    for arm in arms:
        side = arm[0]
        for at, outer in enumerate(arm[1:], 2):
            side = f"({side} {outer})"
            joins.append(join(arm[:at], 1000.0))
        order, below = f"({order} {side})", [*below, *arm]
        joins.append(join(below, 10.0 ** (8 - len(below) / 8)))
    group["relations"] = [{"name": name, "rows": estimate(1e5), "bytes": 1e6} for name in below]
    group["edges"] = [{"relations": list(edge), "condition": f"{edge[0]}.k = {edge[1]}.k"} for edge in edges]
    group["after"] = plan(order, joins)
    group["before"] = {**plan("", []), "cost": 1e12}
    group["status"] = "reordered"
    group["runner_up"] = {"order": order, "cost": 5000.0}
    return report(group)


def report(*groups: dict[str, Any]) -> dict[str, Any]:
    times = {"prepare": 1.0, "search": 4.5, "total": 6.0}
    return {
        "version": "0.1.0",
        "enabled": True,
        "cost_model": "physical",
        "planning_ms": times,
        "groups": list(groups),
    }
