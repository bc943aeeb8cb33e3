"""What the session says about itself: version, settings, and the files generated from them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from frames import assert_rows
from pyspark.sql import SparkSession

import dovetail
from dovetail import Config, _sql


def test_status(spark: SparkSession, spark_line: tuple[int, int]) -> None:
    status = dovetail.status(spark)
    assert status.version == dovetail.__version__ == dovetail.version(spark)
    assert status.spark_line == f"{spark_line[0]}.{spark_line[1]}"
    assert status.spark_version == spark.version
    assert status.scala_version.startswith("2.12" if spark_line == (3, 5) else "2.13")
    assert status.enabled is True
    assert str(status).endswith(": on")
    assert set(status.to_dict()) == {"version", "spark_line", "spark_version", "scala_version", "enabled"}


def test_status_tells_the_switch(spark: SparkSession) -> None:
    with _sql.settings(spark, {"spark.dovetail.enabled": "false"}):
        assert dovetail.status(spark).enabled is False
        assert str(dovetail.status(spark)).endswith("off (spark.dovetail.enabled=false)")


def test_settings_are_put_back_also_on_an_error(spark: SparkSession) -> None:
    spark.conf.set("spark.dovetail.reorder.minGain", "0.5")
    seen = []

    def fail() -> None:
        with _sql.settings(spark, {"spark.dovetail.reorder.minGain": "0.1", "spark.x": "1"}):
            seen.append(spark.conf.get("spark.dovetail.reorder.minGain"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert seen == ["0.1"]
    assert spark.conf.get("spark.dovetail.reorder.minGain") == "0.5"
    assert spark.conf.get("spark.x", None) is None
    spark.conf.unset("spark.dovetail.reorder.minGain")


@pytest.fixture
def untouched(spark: SparkSession, patient: dict[str, str]) -> SparkSession:
    """A session without settings of Dovetail."""
    session = spark.newSession()
    for key in patient:
        session.conf.unset(key)
    return session


def test_config_of_the_session(untouched: SparkSession) -> None:
    assert Config.from_session(untouched) == Config()
    chosen = Config(card_weight=0.25, cost_model="cardWeight", histograms=False, planning_budget_ms=50, enabled=False)
    with _sql.settings(untouched, chosen.to_conf()):
        assert Config.from_session(untouched) == chosen
    assert Config.from_session(untouched) == Config()


def test_a_value_out_of_range_is_refused_by_the_session_as_by_config(untouched: SparkSession) -> None:
    with pytest.raises(Exception, match=r"0\.0 to 1\.0"):
        untouched.conf.set("spark.dovetail.cost.cardWeight", "7")
    with pytest.raises(dovetail.errors.ConfigError, match=r"0\.0 to 1\.0"):
        Config(card_weight=7)
    assert Config.from_session(untouched) == Config()


def test_generated_files_are_up_to_date(spark: SparkSession, root: Path) -> None:
    pytest.importorskip("ruff", reason="ruff formats the generated file")
    spec = importlib.util.spec_from_file_location("generate_config", root / "python" / "generate_config.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = generator
    spec.loader.exec_module(generator)
    keys = generator.keys_of(_sql.function_rows(spark, "dovetail_conf"))
    advice = "run python python/generate_config.py"
    assert generator.render_config(keys) == generator.CONFIG.read_text(), advice
    assert generator.render_docs(keys) == generator.DOCS.read_text(), advice


@pytest.mark.parametrize(
    "text", ["it's", 'a "b" c', "back\\slash \\n", "line\nbreak", "\\u0041 %_ :p ? ${x}", "é 漢 🦊", ""]
)
@pytest.mark.parametrize("escaped", ["false", "true", " True "])
def test_a_text_reaches_spark_as_it_is(spark: SparkSession, text: str, escaped: str) -> None:
    with _sql.settings(spark, {_sql.ESCAPED_LITERALS_KEY: escaped, "x": "it's"}):
        assert_rows(spark.sql(f"SELECT {_sql.text_literal(spark, text)} AS text"), (text,))
