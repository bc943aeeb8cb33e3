"""The package over Spark Connect: the same calls, without a local JVM; test_connect_suite.py runs these tests."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from frames import assert_rows
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import dovetail
from dovetail import Config, _sql
from dovetail._analyze_spark import HISTOGRAM_KEY
from dovetail.errors import NotAnalyzableError, RemoteServerError, TargetNotFoundError

QUERY = "SELECT count(*) AS n, sum(s.v) AS v FROM f JOIN d ON f.k = d.k JOIN s ON f.o = s.o WHERE s.x = 1"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    home = tmp_path_factory.mktemp("connect")
    builder = (
        SparkSession.builder.remote("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home / 'derby'}")
    )
    session = dovetail.enable(builder, planning_budget_ms=400).getOrCreate()
    for statement in (
        "CREATE TABLE f USING parquet AS SELECT id AS o, id % 100 AS k FROM range(20000)",
        "CREATE TABLE d USING parquet AS SELECT id % 100 AS k, id AS w FROM range(1000)",
        "CREATE TABLE s USING parquet AS SELECT id AS o, id % 2000 AS x, id / 7 AS v FROM range(20000)",
    ):
        session.sql(statement).collect()
    yield session
    session.stop()


def test_it_is_connect_and_it_is_on(spark: SparkSession) -> None:
    assert "connect" in type(spark).__module__
    status = dovetail.status(spark)
    assert (status.version, status.enabled, status.spark_version) == (dovetail.__version__, True, spark.version)


def test_settings(spark: SparkSession) -> None:
    assert Config.from_session(spark) == Config(planning_budget_ms=400)
    with _sql.settings(spark, Config(card_weight=0.25).to_conf()):
        assert Config.from_session(spark) == Config(card_weight=0.25)
    assert Config.from_session(spark) == Config(planning_budget_ms=400)


def test_analyze_and_stats(spark: SparkSession) -> None:
    result = dovetail.analyze(spark, "f", columns=["k"], histogram=True, mode="spark", progress=False)
    assert isinstance(result, dovetail.TableStats)
    assert (result.rows, result["k"].histogram_bins) == (20000, 254)
    assert spark.conf.get(HISTOGRAM_KEY, None) is None
    assert dovetail.stats(spark, "f").to_dict()["columns"] == result.to_dict()["columns"]
    every = dovetail.analyze(spark, "default", columns="all", mode="spark", progress=False)
    assert [table.table for table in every] == ["d", "f", "s"]  # type: ignore[union-attr]


def test_analyze_in_one_pass(spark: SparkSession) -> None:
    every = dovetail.analyze(spark, "default", progress=False)
    assert [table.table for table in every] == ["d", "f", "s"]  # type: ignore[union-attr]
    frame = dovetail.analyze(spark, spark.table("f").where("k > 1"), progress=False)
    assert isinstance(frame, dovetail.TableStats)
    assert_rows(spark.sql("DOVETAIL ANALYZE TABLE f").select("rows", "files_read"), (20000, 0))


def test_advise(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE g USING parquet AS SELECT id AS o FROM range(10)").collect()
    advice = dovetail.advise(spark, [QUERY, spark.table("g").join(spark.table("f"), "o")])
    assert "g" in [one.table.split(".")[-1] for one in advice]
    assert all(one.fresh for one in advice.run(spark, progress=False))
    assert dovetail.advise(spark, QUERY).tables == ()
    spark.sql("DROP TABLE g").collect()


def test_errors_keep_their_types(spark: SparkSession) -> None:
    with pytest.raises(TargetNotFoundError, match="Tables of the current database: d, f, s"):
        dovetail.analyze(spark, "nosuch")
    with pytest.raises(TargetNotFoundError):
        dovetail.stats(spark, "nosuch")
    spark.range(5).createOrReplaceTempView("five")
    with pytest.raises(NotAnalyzableError, match="not cached"):
        dovetail.analyze(spark, "five", columns="all", mode="spark", progress=False)
    with pytest.raises(AnalysisException, match="nosuch"):
        dovetail.explain("SELECT * FROM nosuch", spark)


@pytest.mark.parametrize("how", ["text", "frame", "active"])
def test_explain(spark: SparkSession, how: str) -> None:
    dovetail.analyze(spark, "default", columns="all", progress=False)
    if how == "frame":
        found = dovetail.explain(spark.sql(QUERY))
    else:
        found = dovetail.explain(QUERY, spark if how == "text" else None)
    assert found.reordered
    assert found.to_dict()["groups"][0]["after"]["order"] in str(found)
    assert_rows(spark.sql("SHOW VIEWS").where("viewName LIKE '%dovetail%'"))


def test_compare(spark: SparkSession) -> None:
    found = dovetail.compare(spark, QUERY, warmup=False)
    assert found.same_answer
    assert found.dovetail.join_rows < found.plain.join_rows / 10
    assert spark.conf.get("spark.dovetail.enabled", None) is None
    json.dumps(found.to_dict())


def test_steering(spark: SparkSession) -> None:
    part = "SELECT * FROM f JOIN s ON f.o = s.o WHERE s.x = 1"
    dovetail.rows.tell(spark, 17, sql=part)
    assert [(k.text, k.rows) for k in dovetail.rows.all(spark)] == [(part, 17.0)]
    assert _sql.function_rows(spark, "dovetail_estimate", part)[0]["source"] == "given"
    dovetail.rows.forget(spark)
    (pin,) = dovetail.pins.capture(spark, "over connect", QUERY, order="((f d) s)")
    other = dovetail.explain(QUERY.replace("s.x = 1", "s.x = 2"), spark).to_dict()["groups"][0]
    assert other["reason"].startswith("the order of pin 'over connect'")
    dovetail.pins.remove(spark, pin.name)
    assert dovetail.pins.all(spark) == ()


def test_frames_as_queries(spark: SparkSession) -> None:
    f, s = spark.table("f"), spark.table("s")
    frame = f.join(spark.table("d"), "k").join(s, "o").where("x = 1")
    assert dovetail.compare(spark, frame, warmup=False).same_answer
    assert dovetail.stats(spark, f.where("k > 1"))["k"].min == "1"
    dovetail.rows.tell(spark, 17, sql=f.join(s, "o").where("x = 1"))
    assert [(k.text, k.rows) for k in dovetail.rows.all(spark)] == [("a DataFrame", 17.0)]
    dovetail.rows.forget(spark)
    (pin,) = dovetail.pins.capture(spark, "frame", frame, order="((f d) s)")
    assert dovetail.explain(frame).to_dict()["groups"][0]["reason"].startswith("the order of pin 'frame'")
    dovetail.pins.remove(spark, pin.name)
    assert_rows(spark.sql("SHOW VIEWS").where("viewName LIKE '%dovetail%'").select("viewName"))


def test_hints_of_frames(spark: SparkSession) -> None:
    frame = spark.table("f").join(spark.table("d"), "k").join(spark.table("s"), "o").where("x = 1")
    for hinted, reason in (
        (frame.hint("DOVETAIL_OFF").where("w > 5").groupBy("w").count(), "the query has the hint DOVETAIL_OFF"),
        (frame.hint("DOVETAIL_ORDER", "((f d) s)"), "the requested order"),
    ):
        assert dovetail.explain(hinted).to_dict()["groups"][0]["reason"].startswith(reason)


def test_a_past_query_by_its_number(spark: SparkSession) -> None:
    assert spark.sql(QUERY).count() == 1
    last = dovetail.queries(spark)[-1]
    assert dovetail.explain(last.id, spark).to_dict()["groups"][0]["status"] == "reordered"
    assert str(last.id) in repr(dovetail.queries(spark))


def test_enable_while_it_runs_changes_settings_only(spark: SparkSession) -> None:
    again = dovetail.enable(SparkSession.builder, min_gain=0.25).getOrCreate()
    assert Config.from_session(again).min_gain == 0.25
    again.conf.unset("spark.dovetail.reorder.minGain")


def test_a_server_elsewhere_is_refused(spark: SparkSession) -> None:
    with pytest.raises(RemoteServerError, match=r"(?s)sc://host.*start-connect-server"):
        dovetail.enable(SparkSession.builder.remote("sc://host"))
