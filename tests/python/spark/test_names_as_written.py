"""Explain names inputs and columns as the query does: by alias, view or common table expression, files by folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

import dovetail

FROM = "FROM star.sales s JOIN star.item i ON s.item_id = i.item_id "


@pytest.fixture(scope="module")
def northern(spark: SparkSession, tables: str) -> str:
    """A view in SQL: Spark replaces its columns by those of its query."""
    spark.sql("CREATE OR REPLACE VIEW star.northern AS SELECT store_id, region FROM star.store WHERE region = 1")
    return "star.northern"


def group_of(query: DataFrame | str, spark: SparkSession) -> dict[str, Any]:
    (group,) = dovetail.explain(query, spark).to_dict()["groups"]
    found: dict[str, Any] = group
    return found


def told(group: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The inputs, and the conditions of the written order."""
    return [r.get("label", r["name"]) for r in group["relations"]], [j["condition"] for j in group["before"]["joins"]]


WRITTEN = [
    (
        f"SELECT count(*) {FROM} JOIN star.northern ON s.store_id = northern.store_id",
        ["sales s", "item i", "store northern"],
        ["s.item_id = i.item_id", "s.store_id = northern.store_id"],
    ),
    (
        f"SELECT count(*) {FROM} JOIN star.northern a ON s.store_id = a.store_id "
        "JOIN star.northern B ON b.store_id = s.sale JOIN star.store ON store.store_id = s.year",
        ["sales s", "item i", "store a", "store b", "store"],
        ["s.item_id = i.item_id", "s.store_id = a.store_id", "s.sale = b.store_id", "s.year = store.store_id"],
    ),
    (
        f"WITH near AS (SELECT * FROM star.store WHERE region = 1) SELECT count(*) {FROM} "
        "JOIN near n1 ON s.store_id = n1.store_id JOIN near `n 2` ON s.sale = `n 2`.store_id",
        ["sales s", "item i", "store n1", "store n 2"],
        ["s.item_id = i.item_id", "s.store_id = n1.store_id", "s.sale = `n 2`.store_id"],
    ),
    (
        "SELECT count(*) FROM (SELECT s.store_id, s.sale FROM star.sales s JOIN star.item i ON s.item_id = i.item_id "
        "WHERE i.name LIKE '%1') v JOIN star.store t ON v.store_id = t.store_id",
        ["sales s", "item i", "store t"],
        ["s.item_id = i.item_id", "s.store_id = t.store_id"],
    ),
]


@pytest.mark.parametrize(("query", "inputs", "conditions"), WRITTEN)
def test_inputs_and_columns(
    spark: SparkSession, northern: str, query: str, inputs: list[str], conditions: list[str]
) -> None:
    found, on = told(group_of(query, spark))
    assert found == inputs
    # Spark may write either side of an equality first
    assert [set(condition.split(" = ")) for condition in on] == [
        set(condition.split(" = ")) for condition in conditions
    ]


def test_hints_of_a_query_with_a_view(spark: SparkSession, northern: str) -> None:
    query = "SELECT {} count(*) " + FROM + "JOIN star.northern v ON s.store_id = v.store_id"
    order = group_of(query.format("/*+ DOVETAIL_ORDER('((s v) i)') */"), spark)
    assert order["reason"].startswith("the requested order")
    assert order["after"]["order"] == "((s v) i)"
    wrong = group_of(query.format("/*+ DOVETAIL_ORDER('((s w) i)') */"), spark)
    assert "the order '((s w) i)' is not used: 'w' is not one of s, i, v" in wrong["reason"]
    assert group_of(query.format("/*+ DOVETAIL_OFF */"), spark)["status"] == "left_alone"


def test_hints_of_a_frame_of_a_view(spark: SparkSession, northern: str) -> None:
    s, i, v = spark.table("star.sales"), spark.table("star.item"), spark.table(northern).alias("v")
    joined = s.alias("s").join(i.alias("i"), "item_id").join(v, expr("s.store_id = v.store_id"))
    assert told(group_of(joined, spark))[0] == ["sales s", "item i", "store v"]
    assert group_of(joined.hint("DOVETAIL_OFF"), spark)["status"] == "left_alone"
    asked = group_of(joined.hint("DOVETAIL_ORDER", "((s v) i)"), spark)
    assert asked["reason"].startswith("the requested order")


def test_a_hint_of_spark_names_the_alias(spark: SparkSession, tables: str) -> None:
    query = f"SELECT /*+ BROADCAST(i), MERGE(t) */ count(*) {FROM} JOIN star.store t ON s.store_id = t.store_id"
    notes = dovetail.explain(query, spark).to_dict()["notes"]
    assert [note.partition(" fixes")[0].rpartition(" on ")[2] for note in notes] == ["store t", "item i"]


def test_files_are_called_by_their_folder(spark: SparkSession, tables: str, tmp_path: Path) -> None:
    """This holds for any selection of files. The second use of a folder without an alias gets a number."""
    spark.range(60).selectExpr("id AS sale", "id % 3 AS day").write.partitionBy("day").parquet(str(tmp_path / "paid"))
    one = next((tmp_path / "paid" / "day=1").glob("part-*.parquet"))
    read = spark.read.parquet
    for frame in (
        read(str(tmp_path / "paid")),
        read(str(tmp_path / "paid" / "day=1"), str(tmp_path / "paid" / "day=2")),
        read(str(tmp_path / "paid" / "day=1" / "*.parquet")),
        read(str(one)),
    ):
        joined = frame.join(spark.table("star.sales"), "sale").join(read(str(tmp_path / "paid")), "sale")
        inputs, on = told(group_of(joined, spark))
        assert inputs == ["paid", "sales", "paid#2"]
        assert on[1].endswith("= paid#2.sale")


def test_compare_calls_them_as_explain_does(spark: SparkSession, tables: str) -> None:
    query = f"SELECT count(*) {FROM} JOIN star.sales s2 ON s.sale = s2.sale"
    found = dovetail.compare(spark, query)
    assert found.plain.orders == ("((s i) s2)",)
    assert set(found.dovetail.orders[0].replace("(", "").replace(")", "").split()) == {"s", "i", "s2"}
