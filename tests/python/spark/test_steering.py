"""`dovetail.pins` and `dovetail.rows` on a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import dovetail
from dovetail import _sql
from dovetail.errors import DovetailWarning, StatementError, TargetNotFoundError

QUERY = "SELECT count(*) AS n FROM sf JOIN sa ON sf.k1 = sa.k JOIN sb ON sf.k2 = sb.k WHERE sb.w = {}"


@pytest.fixture(scope="module")
def star(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    for name, sql in {
        "sf": "SELECT id % 100 AS k1, id % 20 AS k2 FROM range(2000)",
        "sa": "SELECT id AS k FROM range(100)",
        "sb": "SELECT id AS k, id % 10 AS w FROM range(20)",
    }.items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {sql}")
    store = str(tmp_path_factory.mktemp("store"))
    with _sql.settings(spark, {"spark.dovetail.store.path": store}):
        yield spark
    for name in ("sf", "sa", "sb"):
        spark.sql(f"DROP TABLE {name}")


def test_a_pin_is_used_by_the_next_run_with_other_constants(star: SparkSession, tmp_path: Path) -> None:
    (pin,) = dovetail.pins.capture(star, "it's mine", QUERY.format(1), order="((sf sa) sb)")
    assert (pin.order, sorted(pin.relations), pin.used) == ("((sf sa) sb)", ["sa", "sb", "sf"], 0)
    assert pin.place.endswith("pins.json")
    reason = dovetail.explain(QUERY.format(2), star).to_dict()["groups"][0]["reason"]
    assert reason.startswith("the order of pin 'it's mine'")
    assert dovetail.pins.all(star)[0].used > 0

    file = str(tmp_path / "it's.json")
    dovetail.pins.save(star, Path(file))
    dovetail.pins.remove(star, "it's mine")
    assert dovetail.pins.all(star) == ()
    assert [p.name for p in dovetail.pins.load(star, file)] == ["it's mine"]
    dovetail.pins.remove(star, "it's mine")


def test_tables_of_the_same_name_in_two_catalogs_are_two_tables(star: SparkSession) -> None:
    catalogs = {}
    for name in ("dev", "prod"):
        key = f"spark.sql.catalog.{name}"
        catalogs[key] = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
        catalogs[f"{key}.url"] = f"jdbc:derby:memory:{name};create=true"
        catalogs[f"{key}.driver"] = "org.apache.derby.jdbc.EmbeddedDriver"
    with _sql.settings(star, catalogs):
        for name in ("dev", "prod"):
            star.sql(f"CREATE NAMESPACE {name}.shop")
            star.sql(f"CREATE TABLE {name}.shop.t (k INT)")
        dovetail.rows.tell(star, 10, table="dev.shop.t")
        try:
            sources = {}
            for name in ("dev", "prod"):
                estimate = f"SELECT source FROM dovetail_estimate('SELECT * FROM {name}.shop.t')"
                sources[name] = _sql.rows(star, estimate)[0].source
            assert sources["dev"] == "given"
            assert sources["prod"] != "given"
        finally:
            dovetail.rows.forget(star)
        query = "SELECT count(*) FROM sf JOIN sa ON sf.k1 = sa.k JOIN prod.shop.t ON sf.k2 = t.k"
        for table, excluded in {"prod.shop.t": True, "dev.shop.t": False, "shop.t": True}.items():
            with _sql.settings(star, {"spark.dovetail.reorder.excludeTables": table}):
                assert ("excludeTables names" in str(dovetail.explain(query, star))) is excluded


def test_without_an_order_the_present_one_is_pinned(star: SparkSession) -> None:
    now = dovetail.explain(QUERY.format(1), star).to_dict()["groups"][0]
    (pin,) = dovetail.pins.capture(star, "now", QUERY.format(1))
    assert pin.order == (now["after"] or now["before"])["order"]
    dovetail.pins.remove(star, "now")


@pytest.mark.parametrize("text", ['{"version":1,"pi', "[]", '{"version": 99}'])
def test_a_broken_file_of_pins_stays_and_warns(star: SparkSession, tmp_path: Path, text: str) -> None:
    pins, copy = tmp_path / "pins.json", tmp_path / "copy.json"
    pins.write_text(text)
    with _sql.settings(star, {"spark.dovetail.store.path": str(tmp_path)}):
        with pytest.warns(DovetailWarning, match=rf"in this application only: {pins} is left as it is: ") as warned:
            (pin,) = dovetail.pins.capture(star, "here", QUERY.format(1))
        assert pin.place == "this application"
        assert [w.filename for w in warned if w.category is DovetailWarning] == [__file__]
        with pytest.warns(DovetailWarning, match=f"1 pins written to {copy}; the entries of {pins} are missing: "):
            dovetail.pins.save(star, copy)
        # the pins of the broken file may be in the copy of yesterday
        with pytest.raises(StatementError, match=f"there is a file already, and the entries of {pins} are missing: "):
            dovetail.pins.save(star, copy)
        with pytest.warns(DovetailWarning, match=r"in this application only: .* correct or delete the file\.$"):
            dovetail.pins.load(star, copy)
        with pytest.warns(DovetailWarning, match=rf"but not from the store: {pins} is left as it is: "):
            dovetail.pins.remove(star, "here")
    assert pins.read_text() == text


def test_rows_are_told_listed_and_forgotten(star: SparkSession, tmp_path: Path) -> None:
    part = "SELECT * FROM sf JOIN sb ON sf.k2 = sb.k WHERE sb.w = 3"
    dovetail.rows.tell(star, 17, sql=part)
    dovetail.rows.tell(star, 5_000_000_000, table="sf")
    known = dovetail.rows.all(star)
    assert [(k.kind, k.text, k.rows) for k in known] == [("query", part, 17.0), ("table", "`sf`", 5e9)]
    estimate = _sql.function_rows(star, "dovetail_estimate", "SELECT x.w FROM sb x, sf y WHERE 3 = x.w AND x.k = y.k2")
    assert (estimate[0]["value"], estimate[0]["source"]) == (17.0, "given")
    relations = dovetail.explain(QUERY.format(4), star).to_dict()["groups"][0]["relations"]
    assert [r["rows"]["value"] for r in relations if r["rows"]["source"] == "given"] == [5e9]

    file = str(tmp_path / "rows.json")
    dovetail.rows.save(star, file)
    dovetail.rows.forget(star, table="sf")
    assert [k.kind for k in dovetail.rows.all(star)] == ["query"]
    dovetail.rows.forget(star)
    assert dovetail.rows.all(star) == ()
    assert len(dovetail.rows.load(star, file)) == 2
    dovetail.rows.forget(star)


def test_row_counts_that_do_not_fit_are_left_out_with_a_warning(star: SparkSession, tmp_path: Path) -> None:
    star.sql("CREATE TABLE gone USING parquet AS SELECT 1 AS k")
    dovetail.rows.tell(star, 5, table="gone")
    dovetail.rows.tell(star, 7, table="sf")
    file = str(tmp_path / "rows.json")
    dovetail.rows.save(star, file)
    dovetail.rows.forget(star)
    star.sql("DROP TABLE gone")
    star.sql("CREATE DATABASE away")
    star.sql("USE away")
    try:
        with pytest.warns(DovetailWarning, match=rf"left out of {file}: .*`gone`: \[TABLE_OR_VIEW_NOT_FOUND\]"):
            (known,) = dovetail.rows.load(star, file)
    finally:
        star.sql("USE default")
        star.sql("DROP DATABASE away")
    assert (known.rows, known.relations) == (7.0, ("spark_catalog.default.sf",))
    dovetail.rows.forget(star)


def test_rows_of_a_dropped_table_are_forgotten_by_its_name(star: SparkSession) -> None:
    star.sql("CREATE TABLE gone USING parquet AS SELECT 1 AS k")
    dovetail.rows.tell(star, 3, table="gone")
    star.sql("DROP TABLE gone")
    dovetail.rows.forget(star, table="default.gone")
    assert dovetail.rows.all(star) == ()
    with pytest.raises(TargetNotFoundError, match="there is no table, view or path 'gone'"):
        dovetail.rows.forget(star, table="gone")


def test_what_is_wrong_is_said(star: SparkSession) -> None:
    with pytest.raises(StatementError, match="either sql or table"):
        dovetail.rows.tell(star, 3)
    with pytest.raises(StatementError, match="0 or more"):
        dovetail.rows.tell(star, -3, table="sf")
    with pytest.raises(StatementError, match="not a valid pin name"):
        dovetail.pins.capture(star, "`", QUERY.format(1))
    with pytest.raises(Exception, match="there is no pin 'nosuch'"):
        dovetail.pins.remove(star, "nosuch")
    with pytest.raises(Exception, match="no group of three or more relations"):
        dovetail.pins.capture(star, "two", "SELECT * FROM sf JOIN sb ON sf.k2 = sb.k")
