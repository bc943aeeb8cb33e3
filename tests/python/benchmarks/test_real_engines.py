"""Reads join orders from the plans of all engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dovetail.errors import DovetailError
from dovetail_bench import duckdb_engine, postgresql_engine, real_engines
from dovetail_bench.join_query import parse
from dovetail_bench.query_file import RealQuery

CATALYST = "org.apache.spark.sql.catalyst.plans.logical."
XYU = frozenset("xyu")


def _node(kind: str, children: int, **fields: Any) -> dict[str, Any]:
    return {"class": CATALYST + kind, "num-children": children, **fields}


def _alias(name: str) -> dict[str, Any]:
    return _node("SubqueryAlias", 1, identifier={"name": name})


def _scan(*ids: int) -> dict[str, Any]:
    return _node("LogicalRelation", 0, output=[[{"name": "c", "exprId": {"id": i}}] for i in ids])


ANALYZED = [
    _node("Aggregate", 1),
    _node("Join", 2),
    _node("Join", 2),
    *(_alias("x"), _alias("t"), _scan(1, 2)),
    *(_alias("y"), _alias("t"), _node("View", 1), _scan(3, 4)),
    *(_alias("u"), _scan(5)),
]


def test_a_spark_plan_names_scans_by_their_columns() -> None:
    optimized = [
        _node("Aggregate", 1),
        _node("Join", 2),
        _node("Project", 1),
        _node("Join", 2, condition=[{}]),
        _scan(5),
        _node("Filter", 1),
        _scan(3, 4),
        _scan(1, 2),
    ]
    order = real_engines.order_of(json.dumps(ANALYZED), json.dumps(optimized), XYU)
    assert str(order) == "((u y) x x)"


def test_spark_keeps_a_table_without_alias_in_lower_case() -> None:
    analyzed = [_node("Join", 2), _alias("people"), _scan(1), _alias("T"), _alias("teams"), _scan(2)]
    optimized = [_node("Join", 2, condition=[{}]), _scan(2), _scan(1)]
    order = real_engines.order_of(json.dumps(analyzed), json.dumps(optimized), frozenset(("People", "T")))
    assert str(order) == "(T People)"


def test_a_plan_that_lacks_a_relation_is_an_error() -> None:
    with pytest.raises(DovetailError, match="no scan of u, y"):
        real_engines.order_of(json.dumps(ANALYZED), json.dumps([_scan(1)]), XYU)


def test_duckdb_plans_and_estimates(tmp_path: Path) -> None:
    tables = {name: tmp_path / f"{name}.parquet" for name in ("t", "u")}
    duckdb.execute(f"COPY (SELECT i AS k, i % 7 AS g FROM range(1000) r(i)) TO '{tables['t']}'")
    duckdb.execute(f"COPY (SELECT i AS k FROM range(10) r(i)) TO '{tables['u']}'")
    sql = "SELECT count(*) FROM t x, t y, u WHERE x.k = y.k AND y.k = u.k AND x.g IN (1, 2, 3, 4, 5, 6)"
    query = RealQuery("q", sql, parse(sql), {})
    with duckdb_engine.duckdb_engine(tables, tmp_path) as engine:
        order = engine.order(query)
        assert order.relations == XYU
        assert "u" in str(order).strip("(").split(")")[0]
        assert engine.estimate(query, frozenset("u")) == 10
        assert engine.estimate(query, frozenset("xu")) is not None


def test_a_postgresql_plan() -> None:
    def scan(alias: str, side: str) -> dict[str, Any]:
        return {"Node Type": "Seq Scan", "Alias": alias, "Parent Relationship": side}

    inner = {
        "Node Type": "Hash",
        "Parent Relationship": "Inner",
        "Plans": [
            {
                "Node Type": "Nested Loop",
                "Parent Relationship": "Outer",
                "Plans": [scan("people", "Outer"), scan("t_2", "Inner")],
            }
        ],
    }
    plan = {
        "Node Type": "Aggregate",
        "Plans": [
            {
                "Node Type": "Hash Join",
                "Hash Cond": "(a = b)",
                "Parent Relationship": "Outer",
                "Plans": [scan("t_1", "Outer"), inner],
            }
        ],
    }
    aliases = {"people": "People", "t_1": "T_1", "t_2": "T_2"}
    assert str(postgresql_engine.order_of(plan, aliases)) == "(T_1 (People x T_2))"


def test_postgresql_texts_and_types() -> None:
    text = """SELECT * FROM `Big` b WHERE b."Two Words" = 'It''s `A` "B"'"""
    assert postgresql_engine.folded(text) == """SELECT * FROM "big" b WHERE b."two words" = 'It''s `A` "B"'"""
    types = ["BIGINT", "DOUBLE", "DECIMAL(7,2)", "VARCHAR", "UINTEGER", "TIMESTAMP_NS", "INTEGER[]"]
    expected = ["bigint", "double precision", "numeric(7,2)", "text", "bigint", "timestamp", "text"]
    assert [postgresql_engine.column_type(t) for t in types] == expected
