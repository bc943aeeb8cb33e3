"""Every call that takes a query takes a DataFrame as well as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from frames import assert_rows
from jsonschema import Draft202012Validator as Validator
from pyspark.sql import DataFrame, SparkSession

import dovetail
from dovetail import _sql
from dovetail.errors import StatementError

TEXT = "SELECT * FROM ff JOIN fd ON ff.k = fd.k JOIN fs ON ff.o = fs.o WHERE fs.x = {}"


@pytest.fixture(scope="module")
def joined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataFrame]:
    """A join whose written order is worth changing; two of its columns have the same name."""
    for name, text in {
        "ff": "SELECT id AS o, id % 100 AS k FROM range(20000)",
        "fd": "SELECT id % 100 AS k, id AS w FROM range(1000)",
        "fs": "SELECT id AS o, id % 2000 AS x FROM range(20000)",
    }.items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {text}")
    f, d, s = spark.table("ff"), spark.table("fd"), spark.table("fs")
    with _sql.settings(spark, {"spark.dovetail.store.path": str(tmp_path_factory.mktemp("store"))}):
        yield f.join(d, f.k == d.k).join(s, f.o == s.o).where("x = 1")
    assert_rows(spark.sql("SHOW VIEWS").where("viewName LIKE '%dovetail%'").select("viewName"))
    for name in ("ff", "fd", "fs"):
        spark.sql(f"DROP TABLE {name}")


def test_compare(spark: SparkSession, joined: DataFrame) -> None:
    found = dovetail.compare(spark, joined, warmup=False)
    assert (found.sql, found.same_answer, found.reordered) == (None, True, True)
    assert found.dovetail.join_rows < found.plain.join_rows / 10
    json.dumps(found.to_dict())


def test_stats(spark: SparkSession, joined: DataFrame) -> None:
    frame, text = spark.table("ff").where("k > 1"), "SELECT * FROM ff WHERE k > 1;"
    of_frame, of_text = dovetail.stats(spark, frame), dovetail.stats(spark, text)
    assert (of_frame.table, of_text.table) == ("DataFrame", "query")
    assert of_frame.columns == of_text.columns
    assert (of_frame["k"].min, of_frame.confidence) == ("1", "estimated")
    # columns of the same name
    assert {c.name for c in dovetail.stats(spark, joined).columns} == {"o", "k", "w", "x"}
    assert dovetail.stats(spark, TEXT.format(1)).columns == dovetail.stats(spark, joined).columns
    with pytest.raises(StatementError, match=r"stats takes a query \(SELECT …\), not a command: WITH a .* INSERT"):
        dovetail.stats(spark, "WITH a AS (SELECT 1 AS o, 2 AS k) INSERT INTO ff SELECT * FROM a")
    assert spark.table("ff").count() == 20000


def test_a_pin_of_a_frame_holds_for_the_text(spark: SparkSession, joined: DataFrame) -> None:
    (pin,) = dovetail.pins.capture(spark, "frame", joined, order="((ff fd) fs)")
    assert (pin.order, pin.query) == ("((ff fd) fs)", "a DataFrame")
    for query in (joined, TEXT.format(7)):
        reason = dovetail.explain(query, spark).to_dict()["groups"][0]["reason"]
        assert reason.startswith("the order of pin 'frame'")
    dovetail.pins.remove(spark, "frame")


@pytest.mark.parametrize(("path", "why"), [("/dev/null/store", "not a directory"), ("nosuchfs://a/b", "No FileSystem")])
def test_a_store_that_cannot_be_written(spark: SparkSession, joined: DataFrame, path: str, why: str) -> None:
    told = rf"(?s){path}.*{why}.*spark\.dovetail\.store\.path"
    with _sql.settings(spark, {"spark.dovetail.store.path": path}):
        with pytest.raises(dovetail.DovetailError, match=told):
            dovetail.analyze(spark, "ff", progress=False)
        with pytest.warns(dovetail.DovetailWarning, match=rf"in this application only: .*{told[4:]}"):
            (pin,) = dovetail.pins.capture(spark, "here", joined)
        assert pin.place == "this application"
        with pytest.warns(dovetail.DovetailWarning, match=rf"not from the store: .*{told[4:]}"):
            dovetail.pins.remove(spark, "here")


def test_rows_of_a_frame_hold_for_the_text(spark: SparkSession, joined: DataFrame, tmp_path: Path) -> None:
    part = spark.table("ff").join(spark.table("fs"), "o").where("x = 1")
    dovetail.rows.tell(spark, 17, sql=part)
    dovetail.rows.tell(spark, 5, table="fd")
    text = "SELECT * FROM ff JOIN fs ON ff.o = fs.o WHERE fs.x = 1"
    (estimate,) = _sql.function_rows(spark, "dovetail_estimate", text)
    assert (estimate["value"], estimate["source"]) == (17.0, "given")
    assert [k.text for k in dovetail.rows.all(spark)] == ["a DataFrame", "`fd`"]
    # row counts of DataFrames cannot be saved
    dovetail.rows.save(spark, str(tmp_path / "rows.json"))
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8")) == [
        {"table": "`spark_catalog`.`default`.`fd`", "rows": 5.0}
    ]
    dovetail.rows.forget(spark, sql=part)
    assert [k.text for k in dovetail.rows.all(spark)] == ["`fd`"]
    dovetail.rows.forget(spark)


def test_a_hint_that_takes_a_join_out_of_its_group_is_named(spark: SparkSession, joined: DataFrame) -> None:
    f, d, s = spark.table("ff"), spark.table("fd"), spark.table("fs")
    found = dovetail.explain(f.join(d.hint("broadcast"), "k").join(s, "o").where("x = 1"))
    assert found.to_dict()["groups"] == []
    (note,) = found.to_dict()["notes"]
    assert note.startswith("The hint BROADCAST on fd fixes the place of its join")
    assert note in " ".join(str(found).split())
    Validator(found.schema()).validate(found.to_dict())
    assert note in dovetail.explain(TEXT.format(1).replace("*", "/*+ BROADCAST(fd) */ *", 1), spark).to_dict()["notes"]
    # without the hint, there would be nothing to reorder either
    assert dovetail.explain(f.join(d.hint("merge"), "k")).to_dict()["notes"] == []
    assert dovetail.explain(joined).to_dict()["notes"] == []


def test_a_past_query_is_explained_by_its_number(spark: SparkSession, joined: DataFrame) -> None:
    assert len(joined.collect()) == 100
    # Spark reports a run after its end
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    last = dovetail.queries(spark)[-1]
    assert (last.query, last.groups, last.reordered, last.runs, last.join_rows) == (None, 1, 1, 1, 110)
    found = dovetail.explain(last.id, spark)
    (group,) = found.to_dict()["groups"]
    assert (group["status"], [join["actual_rows"] for join in group["after"]["joins"]]) == ("reordered", [10, 100])
    for argument in (f"{last.id}", f"'{last.id}'"):
        (row,) = spark.sql(f"SELECT * FROM dovetail_explain({argument}, 'json')").collect()
        assert json.loads(row.explain)["groups"] == [group]
    # the settings of today say nothing about the day on which it was planned
    spark.conf.set("spark.dovetail.enabled", "false")
    spark.conf.set("spark.dovetail.cost.model", "cardWeight")
    try:
        past = dovetail.explain(last.id, spark)
    finally:
        spark.conf.unset("spark.dovetail.enabled")
        spark.conf.unset("spark.dovetail.cost.model")
    assert past.to_dict() == found.to_dict()
    assert " reordered the joins: saves " in str(past)
    assert "110" in repr(dovetail.queries(spark))
    with pytest.raises(StatementError, match=rf"has no query 999999: it has \d+ to {last.id}"):
        dovetail.explain(999999, spark)
    with pytest.raises(StatementError, match="not for past queries"):
        dovetail.explain(last.id, spark, actual=True)


def told(frame: DataFrame) -> list[tuple[str, str]]:
    return [(group["status"], group["reason"]) for group in dovetail.explain(frame).to_dict()["groups"]]


OFF = ("left_alone", "the query has the hint DOVETAIL_OFF")


def test_off_as_a_hint_of_a_frame(spark: SparkSession, joined: DataFrame) -> None:
    f, d, s = spark.table("ff"), spark.table("fd"), spark.table("fs")
    off = joined.hint("dovetail_off")
    assert told(joined)[0][0] == "reordered"
    assert told(off) == [OFF]
    # also below other operators, and if Spark moves operators through the joins
    assert told(off.where("w > 5").select("w")) == [OFF]
    assert told(off.where("w > 5").groupBy("w").count().where("w < 9").orderBy("w").limit(3)) == [OFF]
    assert told(f.join(d, "k").hint("DOVETAIL_OFF").join(s, "o").where("x = 1")) == [OFF]
    assert told(spark.sql(TEXT.format(1)).hint("DOVETAIL_OFF")) == [OFF]
    off.select("w").createOrReplaceTempView("off_view")
    assert told(spark.sql("SELECT count(*) FROM off_view WHERE w > 7")) == [OFF]
    spark.sql("DROP VIEW off_view")
    # the hint applies to the whole query, as a hint in the text of a subquery does
    assert told(off.groupBy("w").count().join(d, "w").join(f, "k")) == [OFF, OFF]
    assert told(f.join(d.hint("DOVETAIL_OFF"), "k").join(s, "o").where("x = 1")) == [OFF]
    assert off.where("w > 5").count() == joined.where("w > 5").count() == 90


def test_an_order_as_a_hint_of_a_frame(joined: DataFrame) -> None:
    assert told(joined.hint("DOVETAIL_ORDER", "((ff fd) fs)"))[0][1].startswith("the requested order")
    twice = joined.hint("DOVETAIL_ORDER", "((ff fs) x)").hint("DOVETAIL_ORDER", "((ff fd) fs)")
    assert "the requested order" in told(twice)[0][1]
    assert "the order '((ff fs) x)' is not used: 'x' is not one of ff, fd, fs" in told(twice)[0][1]
    assert "DOVETAIL_ORDER is not used: it takes an order in quotes" in told(joined.hint("DOVETAIL_ORDER"))[0][1]
    assert "DOVETAIL_ORDR is not used: unknown hint" in told(joined.hint("DOVETAIL_ORDR", "((ff fd) fs)"))[0][1]
    assert told(joined)[0][0] == "reordered"


def test_a_hint_is_no_part_of_the_text_that_the_log_shows(spark: SparkSession, joined: DataFrame) -> None:
    joined.hint("DOVETAIL_OFF").collect()
    assert dovetail.queries(spark)[-1].query is None
    spark.sql(TEXT.format(1)).hint("DOVETAIL_OFF").collect()
    assert dovetail.queries(spark)[-1].query == TEXT.format(1)


def test_neither_text_nor_frame(spark: SparkSession) -> None:
    for call in (
        lambda: dovetail.compare(spark, 3),  # type: ignore[arg-type]
        lambda: dovetail.pins.capture(spark, "p", 3),  # type: ignore[arg-type]
        lambda: dovetail.rows.tell(spark, 1, sql=3),  # type: ignore[arg-type]
        lambda: dovetail.explain([], spark),  # type: ignore[arg-type]
    ):
        with pytest.raises(StatementError, match="takes a DataFrame of Spark or the text of a query, got"):
            call()
    with pytest.raises(StatementError, match="table takes the name of a table, got DataFrame"):
        dovetail.rows.tell(spark, 1, table=spark.range(1))  # type: ignore[arg-type]
