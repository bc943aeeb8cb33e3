"""advise: combines the advice on several queries, and `run` follows it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from frames import assert_rows
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import dovetail
from dovetail.advice import Advice, _together
from dovetail.errors import StatementError

FIRST = (
    "SELECT count(*) FROM adv.a JOIN adv.b ON a.k = b.k AND a.t = b.t JOIN adv.c ON a.k = c.k WHERE c.name LIKE 'n1%'"
)
SECOND = "SELECT count(*) FROM adv.a JOIN adv.c ON a.k = c.k WHERE a.shop = 3"


@pytest.fixture
def queries(spark: SparkSession) -> list[str]:
    spark.sql("DROP DATABASE IF EXISTS adv CASCADE")
    spark.sql("CREATE DATABASE adv")
    spark.sql("CREATE TABLE adv.a USING parquet AS SELECT id % 50 AS k, id AS t, id % 7 AS shop FROM range(5000)")
    spark.sql("CREATE TABLE adv.b USING parquet AS SELECT id % 50 AS k, id AS t FROM range(500)")
    spark.sql("CREATE TABLE adv.c USING parquet AS SELECT id AS k, concat('n', id) AS name FROM range(50)")
    return [FIRST, SECOND]


def test_queries_are_put_together_and_run_leaves_nothing_to_advise(spark: SparkSession, queries: list[str]) -> None:
    advice = dovetail.advise(spark, queries)
    assert {one.table.split(".")[-1] for one in advice} == {"a", "b", "c"}
    assert (advice["adv.a"].columns, advice["a"].queries) == (("k", "t", "shop"), (0, 1))
    assert advice["b"].queries == (0,)
    assert advice.groups_of("a") == advice.groups_of("adv.b") == (("k", "t"),)
    assert advice.groups_of("adv.nosuch") == ()
    assert "GROUPS ((`k`, `t`))" in "".join(advice.statements)
    shares = [(one.cost_share or 0) * len(one.queries) for one in advice]
    assert shares == sorted(shares, reverse=True)
    assert all(one.state == "unknown" and "in " in one.reason for one in advice)

    assert "3 tables should be analyzed" in str(advice)
    assert advice.statements[0] in str(advice)
    plain = advice.to_dict()
    assert json.loads(json.dumps(plain)) == plain

    stats = advice.run(spark, progress=False)
    assert [one.fresh for one in stats] == [True, True, True]
    assert [one.groups[0].columns for one in stats if one.groups] == [("k", "t"), ("k", "t")]
    again = dovetail.advise(spark, queries)
    assert (again.tables, str(again)) == ((), "2 queries: nothing to analyze.")
    spark.sql("INSERT INTO adv.b VALUES (1, 1)")
    assert [(one.table.split(".")[-1], one.state) for one in dovetail.advise(spark, queries)] == [("b", "stale")]


def test_the_statements_are_what_run_does(spark: SparkSession, queries: list[str]) -> None:
    for statement in dovetail.advise(spark, queries).statements:
        spark.sql(statement)
    assert dovetail.advise(spark, queries).tables == ()


def test_a_frame_a_path_and_one_query(spark: SparkSession, queries: list[str], tmp_path: object) -> None:
    spark.table("adv.c").write.parquet(f"{tmp_path}/it's")
    frame = spark.read.parquet(f"{tmp_path}/it's").join(spark.table("adv.b"), "k")
    advice = dovetail.advise(spark, frame)
    assert advice.queries == 1
    assert_rows(spark.sql("SHOW VIEWS").where("viewName LIKE '%dovetail%'"))
    assert dovetail.advise(spark, [SECOND, frame]).queries == 2
    assert len(advice.run(spark, progress=False)) == 2
    assert dovetail.advise(spark, frame).tables == ()


def test_other_sources_are_named(spark: SparkSession, queries: list[str]) -> None:
    spark.sql("CREATE TABLE v2.advised (k INT)")
    advice = dovetail.advise(spark, "SELECT * FROM v2.advised x JOIN adv.c ON x.k = c.k")
    spark.sql("DROP TABLE v2.advised")
    assert [one.table.split(".")[-1] for one in advice] == ["c"]
    (refused,) = advice.refused
    assert refused.statement is None
    assert "V2 source" in refused.reason
    assert refused.reason in str(advice)


def test_a_table_that_only_spark_analyzes_keeps_its_statement() -> None:
    def row(*columns: str) -> dict[str, Any]:
        listed = f"ANALYZE TABLE db.h COMPUTE STATISTICS FOR COLUMNS {', '.join(columns)}"
        told = {"state": "not analyzable", "rows": 10.0, "source": "size", "reason": "it is a Hive table"}
        return {**told, "columns": columns, "groups": [], "cost_share": None, "statement": listed if columns else None}

    one = _together("db.h", [(0, row("k"))], 1)
    assert one.statement == "ANALYZE TABLE db.h COMPUTE STATISTICS FOR COLUMNS k"
    both = _together("db.h", [(0, row()), (1, row("k")), (2, row("v"))], 3)
    assert both.statement == "ANALYZE TABLE db.h COMPUTE STATISTICS FOR COLUMNS `k`, `v`"
    assert _together("db.h", [(0, row())], 1).statement is None
    advice = Advice(3, (), (both,))
    assert advice.statements == ()
    assert str(advice).splitlines() == [
        "3 queries: nothing to analyze.",
        "",
        "Not analyzable by Dovetail:",
        "  db.h: it is a Hive table; in 3 of 3 queries",
        f"    {both.statement};",
    ]


def test_wrong_arguments(spark: SparkSession) -> None:
    with pytest.raises(StatementError, match="got int"):
        dovetail.advise(spark, 7)  # type: ignore[arg-type]
    with pytest.raises(StatementError, match="got int"):
        dovetail.advise(spark, ["SELECT 1", 7])  # type: ignore[list-item]
    with pytest.raises(AnalysisException, match="nosuch"):
        dovetail.advise(spark, "SELECT * FROM nosuch")
