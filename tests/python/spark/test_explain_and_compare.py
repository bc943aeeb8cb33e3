"""explain and compare on a query whose written order is bad: the fact table first, the selective dimension last."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality
from frames import assert_rows
from jsonschema import Draft202012Validator as Validator
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

import dovetail
from dovetail import _sql
from dovetail.errors import StatementError

# Characters in a line of a full-screen terminal.
TERMINAL = 180

# Each row of `sold` has 10 rows of `day`, and 10 of the 20,000 rows of `pick` pass the filter: joining `pick` first
# leaves 10 rows, joining `day` first 200,000.
BAD = (
    "SELECT count(*) AS n, sum(d.v * 1.5D) AS s FROM bad.sold f JOIN bad.day d ON f.k = d.k "
    "JOIN bad.pick p ON f.o = p.o WHERE p.x = 1"
)


@pytest.fixture(scope="module")
def bad(spark: SparkSession) -> Iterator[str]:
    spark.sql("CREATE DATABASE bad")
    spark.sql("CREATE TABLE bad.sold USING parquet AS SELECT id AS o, id % 100 AS k FROM range(20000)")
    spark.sql("CREATE TABLE bad.day USING parquet AS SELECT id % 100 AS k, id AS v FROM range(1000)")
    spark.sql("CREATE TABLE bad.pick USING parquet AS SELECT id AS o, id % 2000 AS x FROM range(20000)")
    dovetail.analyze(spark, "bad", columns="all", mode="spark", progress=False)
    yield BAD
    spark.sql("DROP DATABASE bad CASCADE")


def test_explain_text_and_dictionary(spark: SparkSession, bad: str) -> None:
    found = dovetail.explain(bad, spark)
    (group,) = found.to_dict()["groups"]
    assert group["status"] == "reordered"
    assert found.reordered
    assert sorted(relation["label"] for relation in group["relations"]) == ["day d", "pick p", "sold f"]
    assert group["after"]["order"] != group["before"]["order"]
    assert group["after"]["cost"] < group["before"]["cost"]
    assert group["after"]["order"] in str(found)
    json.dumps(found.to_dict())


def test_explain_takes_the_active_session(spark: SparkSession, bad: str) -> None:
    assert dovetail.explain(bad).to_dict()["groups"] == dovetail.explain(bad, spark).to_dict()["groups"]


def test_explain_json_is_the_same_as_text(spark: SparkSession, bad: str) -> None:
    found = dovetail.explain(bad, spark, format="json")
    assert json.loads(str(found)) == found.to_dict()


def test_explain_in_every_format_by_its_schema(spark: SparkSession, bad: str, tmp_path: Path) -> None:
    found = dovetail.explain(bad, spark)
    Validator(found.schema()).validate(found.to_dict())
    html = found.save(tmp_path / "order.html").read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>")
    assert html.count("<svg") == 3  # written, chosen, join graph
    assert "pick p ON f.o = p.o WHERE p.x = 1" in html
    assert found._repr_html_().count("<svg") == 3
    assert found.render("mermaid").count("-->") == 4
    with pytest.raises(StatementError, match=r"unknown suffix of 'order\.pdf'\. Use one of \.txt"):
        found.save(tmp_path / "order.pdf")


def test_explain_of_thirty_relations_can_be_read(spark: SparkSession, bad: str) -> None:
    joins = " ".join(f"JOIN bad.day d{number} ON f.k = d{number}.k" for number in range(29))
    found = dovetail.explain(f"SELECT count(*) FROM bad.sold f {joins} WHERE d7.v = 1", spark)
    Validator(found.schema()).validate(found.to_dict())
    (group,) = found.to_dict()["groups"]
    assert len(group["relations"]) == 30
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= TERMINAL
    plan = group["after"] or group["before"]
    assert len(plan["joins"]) == 29
    assert len([line for line in lines if " join " in line]) >= 29


def test_explain_of_a_dataframe_leaves_no_view_behind(spark: SparkSession, bad: str) -> None:
    before = spark.sql("SHOW VIEWS")
    found = dovetail.explain(spark.sql(bad))
    assert [group["status"] for group in found.to_dict()["groups"]] == ["reordered"]
    assert_df_equality(spark.sql("SHOW VIEWS"), before, ignore_row_order=True)


def test_explain_says_that_dovetail_is_off(spark: SparkSession, bad: str) -> None:
    with _sql.settings(spark, {"spark.dovetail.enabled": "false"}):
        assert dovetail.explain(bad, spark).to_dict()["enabled"] is False


def test_explain_does_not_run_the_query(spark: SparkSession) -> None:
    dovetail.explain("SELECT raise_error('ran') FROM range(10)", spark)


def test_explain_with_actual_rows(spark: SparkSession, bad: str, tmp_path: Path) -> None:
    found = dovetail.explain(bad, spark, actual=True)
    Validator(found.schema()).validate(found.to_dict())
    (group,) = found.to_dict()["groups"]
    assert [join["actual_rows"] for join in group["after"]["joins"]] == [10, 100]
    assert all(join["q_error"] >= 1.0 for join in group["after"]["joins"])
    assert "actual_rows" not in group["before"]["joins"][0]
    assert group["runner_up"]["cost"] > group["after"]["cost"]
    assert "off by" in str(found)
    assert "runner-up" in str(found)
    html = found.save(tmp_path / "ran.html").read_text(encoding="utf-8")
    assert "Estimated and actual rows" in html


def test_the_log_of_queries(spark: SparkSession, bad: str) -> None:
    def log() -> list[Any]:
        return spark.sql("SELECT * FROM dovetail_queries() ORDER BY id").collect()

    before = log()[-1]["id"] if log() else 0
    text = f"{bad} AND d.v >= 0"
    spark.sql(text).collect()
    deadline = time.monotonic() + 20
    while not (log() and log()[-1]["runs"]) and time.monotonic() < deadline:
        time.sleep(0.1)
    found = spark.sql(f"SELECT * FROM dovetail_queries() WHERE id > {before}")
    # the written order has 200,000 rows out of its first join
    gains = ("predicted_gain > 0 AS predicted", "seen_gain > 0.99 AS seen")
    shown = found.selectExpr("query", "groups", "reordered", "runs", "join_rows", *gains)
    assert_rows(shown, (text, 1, 1, 1, 110, True, True))


def test_a_section_in_sparks_own_explain(spark: SparkSession, spark_line: tuple[int, int], bad: str) -> None:
    shown = spark.sql(f"EXPLAIN FORMATTED {bad}").selectExpr("plan LIKE '% reordered the joins: saves %'")
    assert_rows(shown, (spark_line >= (4, 0),))


@pytest.mark.parametrize(
    "query", ["SELECT 'it''s \\\\ \"x\" :p ?' AS c", "SELECT 1 -- comment\n", "WITH a AS (SELECT 1) SELECT * FROM a"]
)
def test_explain_takes_any_text(spark: SparkSession, query: str) -> None:
    assert dovetail.explain(query, spark).to_dict()["groups"] == []


@pytest.mark.parametrize("escaped", ["false", "true"])
def test_variables_of_a_query_are_replaced_once(spark: SparkSession, escaped: str) -> None:
    with _sql.settings(spark, {_sql.ESCAPED_LITERALS_KEY: escaped, "day": "'2024-01-01'"}):
        query = "SELECT id FROM range(9) JOIN range(9) USING (id) JOIN range(8) USING (id) WHERE ${day} > '1999'"
        assert len(dovetail.explain(query, spark).to_dict()["groups"]) == 1


def test_sparks_own_errors_pass_through(spark: SparkSession) -> None:
    with pytest.raises(ParseException, match="selec"):
        dovetail.explain("selec 1", spark)
    with pytest.raises(AnalysisException, match="nosuch"):
        dovetail.explain("SELECT * FROM nosuch", spark)
    with pytest.raises(AnalysisException, match="nosuch"):
        dovetail.compare(spark, "SELECT * FROM nosuch")


def test_wrong_arguments(spark: SparkSession) -> None:
    with pytest.raises(StatementError, match=r"unknown format='pdf'\. Formats: 'text', 'verbose', 'html', 'json'"):
        dovetail.explain("SELECT 1", spark, format="pdf")  # type: ignore[arg-type]
    with pytest.raises(StatementError, match="DataFrame of Spark or the text of a query, got float"):
        dovetail.explain(1.5)  # type: ignore[arg-type]
    with pytest.raises(StatementError, match="runs=0"):
        dovetail.compare(spark, "SELECT 1", runs=0)


def test_compare(spark: SparkSession, bad: str) -> None:
    found = dovetail.compare(spark, bad, runs=2)
    assert found.same_answer
    assert found.reordered
    assert len(found.plain.seconds) == len(found.dovetail.seconds) == 2
    assert found.plain.rows == found.dovetail.rows == 1
    assert found.dovetail.join_rows < found.plain.join_rows / 10
    assert found.plain.dovetail_ms == 0
    assert found.dovetail.dovetail_ms > 0
    assert "same answer" in str(found)
    assert "medians of 2 runs each, in turns" in str(found)
    for run in (found.plain, found.dovetail):
        assert run.task_seconds is not None
        assert run.gc_seconds is not None
        # two tasks count the same pause twice, and Spark leaves out pauses before a task runs
        assert run.gc_seconds >= 0
        assert run.spilled_bytes == 0
    assert [line.split("  ")[0] for line in str(found).splitlines()[2:10]] == [
        "seconds",
        "task seconds",
        "GC seconds",
        "join rows",
        "shuffled bytes",
        "spilled bytes",
        "planning ms",
        "rows",
    ]
    json.dumps(found.to_dict())


def test_rounds_are_in_turns(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default, a query runs once each way, so that a comparison takes little more than twice its time."""
    ran: list[bool] = []
    profile = _sql.profile

    def noted(session: SparkSession, query: str) -> dict[str, Any]:
        report = profile(session, query)
        ran.append(report["enabled"])
        return report

    monkeypatch.setattr(_sql, "profile", noted)
    once = dovetail.compare(spark, "SELECT 1")
    assert ran == [True, False]
    assert "one run each" in repr(once)
    ran.clear()
    assert len(dovetail.compare(spark, "SELECT 1", runs=3).plain.seconds) == 3
    assert ran == [True, False, False, True, True, False]
    ran.clear()
    assert len(dovetail.compare(spark, "SELECT 1", warmup=True).plain.seconds) == 1
    assert ran == [True, False, False, True]


def test_both_orders_give_the_rows_that_spark_gives(spark: SparkSession, bad: str) -> None:
    detail = bad.replace("count(*) AS n, sum(d.v * 1.5D) AS s", "f.o, d.v, p.x")
    ours = spark.sql(detail).collect()
    with _sql.settings(spark, {"spark.dovetail.enabled": "false"}):
        plain = spark.sql(detail).collect()
    assert len(plain) == 100
    assert_df_equality(spark.createDataFrame(ours), spark.createDataFrame(plain), ignore_row_order=True)


@pytest.mark.parametrize("before", [None, "false", "true"])
def test_compare_puts_the_switch_back(spark: SparkSession, before: str | None) -> None:
    if before is not None:
        spark.conf.set("spark.dovetail.enabled", before)
    try:
        dovetail.compare(spark, "SELECT 1", warmup=False)
        with pytest.raises(Exception, match="ran"):
            dovetail.compare(spark, "SELECT raise_error('ran')", warmup=False)
        assert spark.conf.get("spark.dovetail.enabled", None) == before
    finally:
        spark.conf.unset("spark.dovetail.enabled")


def test_compare_sees_another_answer(spark: SparkSession) -> None:
    # Nondeterministic on purpose: each run returns other values, so the digests must differ.
    found = dovetail.compare(spark, "SELECT uuid() AS u, rand() AS r FROM range(10)", warmup=False)
    assert not found.same_answer
    assert len(found.differences) == 2
    assert "DIFFERENT ANSWERS" in str(found)


def test_compare_names_the_columns_that_it_does_not_compare(spark: SparkSession) -> None:
    query = "SELECT array(rand()) AS a, map(1, rand()) AS m, array(1) AS i, 0.5D AS d"
    found = dovetail.compare(spark, query, warmup=False)
    assert (found.same_answer, found.not_compared) == (True, ("a", "m"))
