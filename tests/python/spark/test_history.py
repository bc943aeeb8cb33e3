"""`dovetail.history`: Dovetail plans a query with the rows that earlier queries counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import dovetail
from dovetail import _sql

QUERY = "SELECT hf.id FROM hf JOIN ha ON hf.k1 = ha.k JOIN hb ON hf.k2 = hb.k WHERE hb.w = 3"


@pytest.fixture
def remembering(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    for name, sql in {
        "hf": "SELECT id, id % 100 AS k1, id % 20 AS k2 FROM range(2000)",
        "ha": "SELECT id AS k FROM range(100)",
        "hb": "SELECT id AS k, id % 10 AS w FROM range(20)",
    }.items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {sql}")
    store = {"spark.dovetail.store.path": str(tmp_path / "store"), "spark.dovetail.history.enabled": "true"}
    with _sql.settings(spark, store):
        yield spark
    for name in ("hf", "ha", "hb"):
        spark.sql(f"DROP TABLE {name}")


def sources(spark: SparkSession) -> dict[str, str]:
    group = dovetail.explain(QUERY, spark).to_dict()["groups"][0]
    return {relation["name"]: relation["rows"]["source"] for relation in group["relations"]}


def test_rows_that_a_query_counted_are_those_of_the_next(remembering: SparkSession) -> None:
    assert dovetail.history(remembering) == ()
    assert "history" not in sources(remembering).values()
    rows = len(remembering.sql(QUERY).collect())

    known = {tuple(sorted(e.relations)): e for e in dovetail.history(remembering) if e.kind == "counted"}
    names = ("ha", "hb", "hf")
    whole = known[tuple(f"spark_catalog.default.{name}" for name in names)]
    assert (whole.rows, whole.runs, whole.orders) == (rows, 1, 1)
    assert sources(remembering) == dict.fromkeys(names, "history")
    assert len(remembering.sql(QUERY).collect()) == rows


def test_it_is_copied_and_forgotten(remembering: SparkSession, tmp_path: Path) -> None:
    remembering.sql(QUERY).collect()
    assert dovetail.history(remembering)
    file = _sql.text_literal(remembering, str(tmp_path / "it's history.json"))
    remembering.sql(f"DOVETAIL SAVE HISTORY {file}")
    remembering.sql("DOVETAIL FORGET HISTORY FOR TABLE hb")
    assert dovetail.history(remembering) == ()
    remembering.sql(f"DOVETAIL LOAD HISTORY {file}")
    assert set(sources(remembering).values()) == {"history"}
