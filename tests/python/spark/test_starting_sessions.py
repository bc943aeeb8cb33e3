"""enable: starts sessions in separate processes, because each starts a JVM."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from line_table import LISTED
from scripts import SAYING, lines

import dovetail
from dovetail import jars

START = (
    SAYING
    + """
import os, sys, tempfile
import dovetail
from frames import assert_rows
from pyspark.sql import SparkSession

home = tempfile.mkdtemp()

def builder():
    plain = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    plain = plain.config("spark.sql.warehouse.dir", home)
    return plain.config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")

def assert_joins(spark):
    joins = "range(10) a JOIN range(5) b ON a.id = b.id JOIN range(3) c ON b.id = c.id"
    assert_rows(spark.sql(f"SELECT count(*) FROM {joins}"), (3,))
"""
)


def test_a_session_that_runs_and_a_jvm_that_stays_are_refused(run_python: Any) -> None:
    done = run_python(
        START
        + """
import traceback
spark = builder().getOrCreate()
try:
    dovetail.status(spark)
except dovetail.NotEnabledError:
    say(traceback.format_exc().count("\\n"))
refused(lambda: dovetail.status(spark))
refused(lambda: dovetail.enable(builder()))
refused(lambda: dovetail.stats(spark, "t"))
refused(lambda: dovetail.explain("SELECT 1", spark))
refused(lambda: dovetail.analyze(spark, "t"))
refused(lambda: dovetail.compare(spark, "SELECT 1"))
refused(lambda: dovetail.Config.from_session(spark))
frame = spark.range(3)
spark.stop()
refused(lambda: dovetail.enable(builder()))
refused(lambda: dovetail.explain("SELECT 1", spark))
refused(lambda: dovetail.explain(frame))
refused(lambda: dovetail.compare(spark, "SELECT 1"))
"""
    )
    traced, status, running, *calls, jvm, text, of_frame, compared = lines(done)
    assert status.startswith("NotEnabledError | Dovetail is not on in this Spark session.")
    assert "dovetail.enable(SparkSession.builder)" in status
    assert "dovetail.attach(spark)" in status
    # the calls and the message, without Spark's error and the JVM's stack
    assert int(traced) < 20
    assert "SQLQueryContextLogger" not in done.stderr
    assert running.startswith("SessionRunningError")
    assert "restart the kernel" in running
    assert "--jars $(dovetail jar-path)" in running
    assert [call.split(" | ")[0] for call in calls] == ["NotEnabledError"] * 5
    assert jvm.startswith("SessionRunningError")
    assert "its JVM still runs" in jvm
    for stopped in (text, of_frame, compared):
        assert stopped.startswith("SessionStoppedError | the session is stopped. Start one with dovetail.enable")


def test_everything_that_is_there_stays(run_python: Any, tmp_path: Path) -> None:
    shutil.copy(dovetail.jar_path(), tmp_path / "other.jar")  # any jar will do
    shutil.copy(dovetail.jar_path(), tmp_path / "submitted.jar")
    done = run_python(
        START
        + """
b = builder().config("spark.jars", sys.argv[1]).config("spark.sql.extensions", "io.example.Absent")
spark = dovetail.enable(b, planning_budget_ms=123, cost_model="cardWeight").getOrCreate()
say(dovetail.status(spark).version)
say(spark.conf.get("spark.sql.extensions"))
say(spark.conf.get("spark.jars"))
say(os.environ["PYSPARK_SUBMIT_ARGS"])
config = dovetail.Config.from_session(spark)
say(config.planning_budget_ms, config.cost_model)
# Once it runs, enable() changes settings only, and says nothing.
again = dovetail.enable(builder(), card_weight=0.25, adaptive_reorder=True).getOrCreate()
say(again is spark, dovetail.Config.from_session(again).card_weight)
# Orders at run time bring the evaluator that lets Spark accept them; a query loads its class.
say(again.conf.get("spark.sql.adaptive.customCostEvaluatorClass"), again.range(9).groupBy("id").count().count())
# A stopped session can be started again: its JVM has the jar.
spark.stop()
say(dovetail.status(dovetail.enable(builder()).getOrCreate()).version)
""",
        str(tmp_path / "other.jar"),
        env={"PYSPARK_SUBMIT_ARGS": f"--jars {tmp_path / 'submitted.jar'} --name x pyspark-shell"},
    )
    version, extensions, jar_list, submit, settings, again, evaluator, restarted = lines(done)
    assert version == restarted == dovetail.__version__
    assert extensions == "io.example.Absent,dovetail.DovetailExtensions"
    # Spark tried the other extension first, in the order of the list.
    assert "Cannot use io.example.Absent" in done.stderr
    expected = f"{tmp_path / 'other.jar'},{tmp_path / 'submitted.jar'},{dovetail.jar_path()}"
    assert jar_list.replace("file://", "").replace("file:", "") == expected
    assert submit == f"--jars {expected} --name x pyspark-shell"
    assert settings == "123 cardWeight"
    assert again == "True 0.25"
    assert evaluator == "dovetail.DovetailCostEvaluator 9"


def test_a_context_without_a_session_gets_the_session_of_the_user(run_python: Any) -> None:
    done = run_python(
        START
        + """
from pyspark import SparkConf, SparkContext

def context(**settings):
    plain = SparkConf().setMaster("local[1]").setAppName("own context").set("spark.ui.enabled", "false")
    return SparkContext(conf=plain.setAll([(f"spark.{key}", value) for key, value in settings.items()]))

def static(session):
    session.sql("SELECT 1").collect()
    return session.conf.get("spark.sql.warehouse.dir").removeprefix("file:") == home

sc = context(**{"jars": dovetail.jar_path(), "sql.extensions": "dovetail.DovetailExtensions"})
refused(lambda: dovetail.explain("SELECT 1"))
spark = dovetail.enable(builder(), card_weight=0.25).getOrCreate()
say(static(spark), dovetail.status(spark).version, dovetail.Config.from_session(spark).card_weight)
# also if pyspark still knows the session of a stopped context
sc.stop()
context(**{"sql.extensions": "io.example.Absent"})  # this JVM was started with the value of the first context
refused(lambda: dovetail.enable(builder()))
spark = builder().getOrCreate()
say(static(spark))
refused(lambda: dovetail.enable(builder()))
"""
    )
    no_session, options, no_extension, plain, running = lines(done)
    assert no_session.startswith("StatementError | no Spark session")
    assert options == f"True {dovetail.__version__} 0.25"
    assert no_extension.startswith("SessionRunningError | a SparkContext without Dovetail already runs")
    assert "dovetail.attach(spark)" in no_extension
    assert plain == "True"
    assert running.startswith("SessionRunningError | a Spark session without Dovetail already runs")


@pytest.mark.lines
def test_a_jar_of_another_spark_line_leaves_plain_spark(run_python: Any, spark_line: tuple[int, int]) -> None:
    other = dovetail.jar_path("4.0" if spark_line != (4, 0) else "4.1")
    done = run_python(
        START
        + """
b = builder().config("spark.jars", sys.argv[1]).config("spark.sql.extensions", "dovetail.DovetailExtensions")
spark = b.getOrCreate()
assert_joins(spark)
refused(lambda: dovetail.status(spark))
""",
        other,
    )
    (status,) = lines(done)
    assert status.startswith("NotEnabledError")


def test_wrong_settings_in_a_file_are_not_fatal(run_python: Any, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.dovetail.cost.cardWeight 7\nspark.dovetail.enabled perhaps\nspark.sql.extensions io.example.Absent\n"
    )
    done = run_python(
        START
        + """
spark = dovetail.enable(builder()).getOrCreate()
say(spark.conf.get("spark.sql.extensions"))
assert_joins(spark)
config = dovetail.Config.from_session(spark)
say(config.card_weight, config.enabled)
""",
        env={"SPARK_CONF_DIR": str(tmp_path)},
    )
    extensions, config = lines(done)
    assert extensions == "io.example.Absent,dovetail.DovetailExtensions"
    assert config == "0.7 True"


def test_refusals_before_any_jvm(run_python: Any, tmp_path: Path) -> None:
    shutil.copy(jars.JARS / "lines.json", tmp_path)
    shutil.copytree(jars.JARS, tmp_path / "a,b")
    done = run_python(
        START
        + """
from pathlib import Path
refused(lambda: dovetail.enable(builder(), card_wait=1))
refused(lambda: dovetail.enable(builder(), card_weight=2))
refused(lambda: dovetail.enable(builder().config("spark.dovetail.cost.model", "cheap")))
refused(lambda: dovetail.enable(SparkSession.builder.remote("sc://host:15002")))
os.environ["SPARK_REMOTE"] = "sc://elsewhere"
refused(lambda: dovetail.enable(SparkSession.builder))
del os.environ["SPARK_REMOTE"]
refused(lambda: dovetail.explain("SELECT 1"))
refused(lambda: dovetail.enable("local[1]"))
from dovetail import jars
jars.JARS = Path(sys.argv[1])
refused(lambda: dovetail.enable(builder()))
jars.JARS = Path(sys.argv[1]) / "a,b"
refused(lambda: dovetail.enable(builder()))
import pyspark
pyspark.__version__ = "9.9.0"
refused(lambda: dovetail.enable(builder()))
from pyspark import SparkContext
say(SparkContext._gateway)
""",
        str(tmp_path),
    )
    name, value, option, remote, environment, no_session, no_builder, no_jar, comma, newer, gateway = lines(done)
    assert name.startswith("ConfigError | unknown setting 'card_wait'. Did you mean card_weight?")
    assert value.startswith("ConfigError | card_weight=2")
    assert option.startswith("ConfigError | cost_model='cheap'")
    assert option.endswith("expected 'physical' or 'cardWeight'.")
    for refusal in (remote, environment):
        assert refusal.startswith("RemoteServerError | sc://")
        assert "start-connect-server.sh --jars" in refusal
    assert no_session.startswith("StatementError | no Spark session")
    assert no_builder.startswith("StatementError | enable() takes a session builder")
    assert no_jar.startswith("JarMissingError")
    assert comma.startswith("JarMissingError | spark.jars cannot name ")
    assert newer.startswith("UnsupportedSparkError")
    assert f"Supported Spark lines: {LISTED}" in newer
    assert gateway == "None"


@pytest.mark.parametrize("with_jar", [True, False])
def test_under_spark_submit_only_the_extension_is_named(run_python: Any, tmp_path: Path, with_jar: bool) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        START
        + """
refused(lambda: say(dovetail.status(dovetail.enable(SparkSession.builder, card_weight=0.5).getOrCreate()).version))
if len(sys.argv) > 1:
    say(SparkSession.builder.getOrCreate().conf.get("spark.sql.extensions"))
"""
    )
    words = ["--jars", dovetail.jar_path(), "--conf", "spark.sql.extensions=io.example.Absent"] if with_jar else []
    done = run_python(
        """
import pathlib, pyspark, subprocess, sys
submit = pathlib.Path(pyspark.__file__).parent / "bin" / "spark-submit"
options = ["--master", "local[1]", "--conf", "spark.ui.enabled=false"]
sys.exit(subprocess.run([str(submit), *options, *sys.argv[1:]]).returncode)
""",
        *words,
        str(script),
        *(["more"] if with_jar else []),
        env={"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
    )
    if with_jar:
        version, _, extensions = lines(done)
        assert version == dovetail.__version__
        assert extensions == "io.example.Absent,dovetail.DovetailExtensions"
    else:
        (refusal,) = lines(done)
        assert refusal.startswith("SessionRunningError | spark-submit started the JVM of this job")
        assert "--jars $(dovetail jar-path)" in refusal
