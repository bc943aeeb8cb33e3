"""Existing values of jars and extensions are read from every place, and kept."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pyspark
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import SparkConf
from pyspark.sql import SparkSession

from dovetail import _launch, _py4j, jars, session
from dovetail.errors import ConfigError, SessionRunningError, UnsupportedSparkError
from dovetail.jars import EXTENSION
from dovetail.session import (
    EXPLAIN_PROVIDER,
    EXPLAIN_PROVIDERS_KEY,
    EXTENSIONS_KEY,
    JARS_KEY,
    _enable_under_submit,
    _jar,
    appended_conf,
)

DELTA = "io.delta.sql.DeltaSparkSessionExtension"
JAR = "/somewhere/ours.jar"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))


def test_nothing_there() -> None:
    assert appended_conf({}, JAR) == {JARS_KEY: JAR, EXTENSIONS_KEY: EXTENSION}


def test_the_builders_options_stay_and_ours_is_last() -> None:
    there = {JARS_KEY: "a.jar, b.jar", EXTENSIONS_KEY: DELTA}
    assert appended_conf(there, JAR) == {JARS_KEY: f"a.jar,b.jar,{JAR}", EXTENSIONS_KEY: f"{DELTA},{EXTENSION}"}


def test_twice_is_once() -> None:
    once = appended_conf({EXTENSIONS_KEY: DELTA}, JAR)
    assert appended_conf(once, JAR) == once


def test_spark_defaults_stay(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"# site\n{EXTENSIONS_KEY}   {DELTA}\nspark.jars=/opt/site.jar\n")
    assert appended_conf({}, JAR) == {JARS_KEY: f"/opt/site.jar,{JAR}", EXTENSIONS_KEY: f"{DELTA},{EXTENSION}"}


def test_a_builders_option_hides_spark_defaults_as_it_does_in_spark(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.jars /opt/site.jar\n")
    assert appended_conf({JARS_KEY: "mine.jar"}, JAR)[JARS_KEY] == f"mine.jar,{JAR}"


@pytest.mark.parametrize(
    "words", ["--jars a.jar,b.jar pyspark-shell", "--jars=a.jar,b.jar pyspark-shell", "--conf spark.jars=a.jar,b.jar x"]
)
def test_submit_args_stay(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", words)
    assert appended_conf({JARS_KEY: "c.jar"}, JAR)[JARS_KEY] == f"c.jar,a.jar,b.jar,{JAR}"
    _launch.replace_in_submit_args(JARS_KEY, "all.jar")
    assert _launch.submit_args_value(JARS_KEY) == "all.jar"
    assert "a.jar,b.jar" not in os.environ["PYSPARK_SUBMIT_ARGS"]


def test_submit_args_option_wins_over_conf_and_the_last_of_each() -> None:
    words = {
        "PYSPARK_SUBMIT_ARGS": "--conf spark.jars=no.jar --jars first.jar --jars last.jar -c spark.x=1 pyspark-shell"
    }
    assert _launch.submit_args_value("spark.jars", words) == "last.jar"
    assert _launch.submit_args_value("spark.x", words) == "1"
    assert _launch.submit_args_value("spark.y", words) is None


@pytest.mark.parametrize("joined", [" ", "="])
def test_a_properties_file_of_submit_args_is_the_defaults(
    joined: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "own.conf").write_text(f"{EXTENSIONS_KEY}: {DELTA}\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file{joined}{tmp_path / 'own.conf'} pyspark-shell")
    assert appended_conf({}, JAR)[EXTENSIONS_KEY] == f"{DELTA},{EXTENSION}"


@given(
    st.lists(
        st.tuples(st.sampled_from(["--jars", "--conf", "--name"]), st.text("ab =.'\"\\$,", max_size=8)), max_size=5
    )
)
def test_replacing_keeps_every_other_word(words: list[tuple[str, str]]) -> None:
    flat = [part for pair in words for part in pair] + ["pyspark-shell"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", shlex.join(flat))
        _launch.replace_in_submit_args(JARS_KEY, "new.jar")
        after = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
    expected = list(flat)
    for index in range(0, len(flat) - 1, 2):
        if flat[index] == "--jars":
            expected[index + 1] = "new.jar"
    assert after == expected


def test_properties_as_java_writes_them() -> None:
    text = "# c\n! c\nspark.a 1\nspark.b=2\nspark.c: 3\n  spark.d   x y \nspark.e \\\n   4\nspark.f\n"
    expected = {"spark.a": "1", "spark.b": "2", "spark.c": "3", "spark.d": "x y", "spark.e": "4", "spark.f": ""}
    assert _launch.parse_properties(text) == expected


def test_a_comment_is_not_continued() -> None:
    assert _launch.parse_properties("# no \\\nspark.a 1\nspark.b x,\\\n  # y\n") == {"spark.a": "1", "spark.b": "x,# y"}


def test_a_properties_file_beside_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"{EXTENSIONS_KEY} {DELTA}\nspark.x 1\n")
    (tmp_path / "own.conf").write_text("spark.x 2\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    own = f"--properties-file {tmp_path / 'own.conf'}"
    for words, extensions in (f"{own} --load-spark-defaults", f"{DELTA},{EXTENSION}"), (own, EXTENSION):
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{words} pyspark-shell")
        assert appended_conf({}, JAR)[EXTENSIONS_KEY] == extensions
        assert _launch.defaults_value("spark.x") == "2"


def test_a_dovetail_jar_that_is_there_is_taken(spark_line: tuple[int, int]) -> None:
    own = f"s3://bucket/dovetail-spark-{spark_line[0]}.{spark_line[1]}_2.13-0.1.0.jar"
    assert _jar({JARS_KEY: f"a.jar,{own}"}) == own


def test_a_dovetail_jar_of_another_line_is_refused(spark_line: tuple[int, int]) -> None:
    other = "3.5" if spark_line != (3, 5) else "4.0"
    with pytest.raises(UnsupportedSparkError, match="Remove it"):
        _jar({JARS_KEY: f"/x/dovetail-spark-{other}_2.12-0.1.0.jar"})


def test_under_spark_submit_the_package_needs_no_jar_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The job names the jar, and the package came in an archive of Python files."""
    monkeypatch.setattr(jars, "JARS", tmp_path)
    monkeypatch.setattr(_py4j, "submitted_conf", lambda: SparkConf(loadDefaults=False))
    monkeypatch.setattr(_py4j, "jvm_has", {EXTENSION}.__contains__)
    assert _enable_under_submit(SparkSession.Builder(), {}, {})._options[EXTENSIONS_KEY] == EXTENSION


@pytest.mark.parametrize("found", [True, False])
def test_under_spark_submit_the_jvm_is_asked_for_the_class(monkeypatch: pytest.MonkeyPatch, found: bool) -> None:
    """No setting names a jar of the installation or of an image."""
    classes = {EXTENSION} if found else set()
    monkeypatch.setattr(_py4j, "submitted_conf", lambda: SparkConf(loadDefaults=False))
    monkeypatch.setattr(_py4j, "jvm_has", classes.__contains__)
    builder = SparkSession.Builder()
    if found:
        assert _enable_under_submit(builder, {}, {})._options[EXTENSIONS_KEY] == EXTENSION
    else:
        with pytest.raises(SessionRunningError, match="without the Dovetail jar"):
            _enable_under_submit(builder, {}, {})


@pytest.mark.parametrize("classes", [{EXTENSION}, {EXTENSION, EXPLAIN_PROVIDER}])
def test_spark_is_not_told_of_a_class_that_the_submitted_jar_lacks(
    monkeypatch: pytest.MonkeyPatch, classes: set[str]
) -> None:
    """Spark 4 fails every query if it cannot load an explain provider; the jar of Spark 3.5 has none."""
    monkeypatch.setattr(_py4j, "submitted_conf", lambda: SparkConf(loadDefaults=False))
    monkeypatch.setattr(_py4j, "jvm_has", classes.__contains__)
    monkeypatch.setattr(session, "pyspark_version", lambda: "4.1.0")
    options = _enable_under_submit(SparkSession.Builder(), {}, {})._options
    assert options.get(EXPLAIN_PROVIDERS_KEY) == (EXPLAIN_PROVIDER if EXPLAIN_PROVIDER in classes else None)


def test_a_pyspark_without_contexts_runs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyspark-client is such a pyspark."""
    monkeypatch.delattr(pyspark, "SparkContext")
    assert not _py4j.context_runs()


def test_an_open_quote_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf 'a=b pyspark-shell")
    with pytest.raises(ConfigError, match=r"PYSPARK_SUBMIT_ARGS cannot be read: No closing quotation\. Its value is"):
        appended_conf({}, JAR)
