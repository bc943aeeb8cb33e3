"""Machines with one fault each: the doctor names this fault, with its fix, and nothing else."""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from users import as_a_user

from dovetail import doctor, jars
from dovetail._surroundings import _unwritable
from dovetail.errors import PySparkMissingError
from dovetail.jars import EXTENSION

DELTA = "io.delta.sql.DeltaSparkSessionExtension"

Machine = Callable[[pytest.MonkeyPatch, Path], None]


def defaults(*lines: str) -> Machine:
    """A spark-defaults.conf with these lines; {jar} is the right jar."""

    def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        text = "\n".join(lines).replace("{jar}", jars.jar_path()).replace("{tmp}", str(tmp_path))
        (tmp_path / "spark-defaults.conf").write_text(text)
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))

    return make


def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def java_7(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'java version \"1.7.0_80\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))


def no_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing() -> str:
        raise PySparkMissingError("pyspark is not installed.")

    monkeypatch.setattr(jars, "pyspark_version", missing)
    monkeypatch.setattr(doctor, "pyspark_version", missing)


def new_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "pyspark_version", lambda: "5.0.0")
    monkeypatch.setattr(doctor, "pyspark_version", lambda: "5.0.0")


def old_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "pyspark_version", lambda: "3.4.4")
    monkeypatch.setattr(doctor, "pyspark_version", lambda: "3.4.4")


def jars_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Copies the package's jars to a folder, which the package then uses; returns the jar for this pyspark."""
    shutil.copytree(jars.JARS, folder)
    monkeypatch.setattr(jars, "JARS", folder)
    return Path(jars.jar_path())


def no_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jars_in(monkeypatch, tmp_path / "jars").unlink()


def half_a_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jar = jars_in(monkeypatch, tmp_path / "jars")
    jar.write_bytes(jar.read_bytes()[: jar.stat().st_size // 2])


def other_scala(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    line = jars.line_of(jars.pyspark_version())
    scala = "2.13" if line.scala_binary == "2.12" else "2.12"
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_{scala}-{line.built_for}.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))


def submit_args_without_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf spark.sql.extensions={EXTENSION} pyspark-shell")


def store_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    defaults("spark.dovetail.store.path {tmp}/taken/statistics")(monkeypatch, tmp_path)


# By name of the fault: the machine, the check that finds the fault, its status, and parts of its finding and its fix.
FAULTS: dict[str, tuple[Machine, str, str, str, str]] = {
    "no Java": (no_java, "java", "failed", "java is not on the PATH", "install Java 17"),
    "old Java": (java_7, "java", "failed", "7 (", "Dovetail on this Spark needs Java"),
    "no pyspark": (no_pyspark, "pyspark", "failed", "not installed", "pip install 'dovetail-spark[spark]'"),
    "new Spark": (new_spark, "pyspark", "failed", "5.0.0", "the wheel of a newer Dovetail"),
    "old Spark": (old_spark, "pyspark", "failed", "3.4.4", "the nearest is 3.5 (pip install 'pyspark==3.5.*')"),
    "no jar": (no_jar, "jar", "failed", "missing", "pip install --force-reinstall"),
    "broken jar": (half_a_jar, "jar", "failed", "is broken", "reinstall the package"),
    "other Scala": (other_scala, "spark home", "failed", "is built with Scala", "with Scala"),
    "class without jar": (
        defaults(f"spark.sql.extensions {EXTENSION}"),
        "extension jar",
        "failed",
        "no jar contains it",
        "--jars $(dovetail jar-path)",
    ),
    "class without jar, submit args": (
        submit_args_without_jar,
        "extension jar",
        "failed",
        "no jar contains it",
        "--jars $(dovetail jar-path)",
    ),
    "jar of another line": (
        defaults("spark.jars /opt/dovetail-spark-2.4_2.11-0.1.0.jar"),
        "extension jar",
        "failed",
        "another Spark line",
        "dovetail jar-path",
    ),
    "before Delta": (
        defaults(f"spark.sql.extensions {EXTENSION},{DELTA}", "spark.jars {jar}"),
        "extension",
        "failed",
        f"{DELTA} comes after",
        f"set spark.sql.extensions={DELTA},{EXTENSION}",
    ),
    "Spark reorders too": (
        defaults("spark.sql.cbo.enabled true", "spark.sql.cbo.joinReorder.enabled true"),
        "spark settings",
        "warning",
        "Spark's own cost-based reordering",
        "set spark.sql.cbo.joinReorder.enabled=false",
    ),
    "rule excluded": (
        defaults("spark.sql.optimizer.excludedRules org.apache.spark.sql.dovetail.plan.ReorderJoins"),
        "spark settings",
        "failed",
        "excludes org.apache.spark.sql.dovetail",
        "remove it from",
    ),
    "wrong value": (
        defaults("spark.dovetail.cost.cardWeight 7"),
        "dovetail settings",
        "failed",
        "0.0 to 1.0",
        "correct or remove it",
    ),
    "misspelled setting": (
        defaults("spark.dovetail.reorder.maxPlaningMs 7"),
        "dovetail settings",
        "failed",
        "unknown setting spark.dovetail.reorder.maxPlaningMs. Did you mean spark.dovetail.reorder.maxPlanningMs",
        "correct or remove it",
    ),
    "switched off": (
        defaults("spark.dovetail.enabled=false"),
        "dovetail settings",
        "warning",
        "enabled=false",
        "set it to true",
    ),
    "store cannot be written": (
        store_in_a_file,
        "statistics",
        "warning",
        "taken is a file",
        "set spark.dovetail.store.path",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_doctor_finds(fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine, name, status, found, fix = FAULTS[fault]
    monkeypatch.chdir(tmp_path)
    machine(monkeypatch, tmp_path)
    wrong = [check for check in doctor.examine(session=False) if check.status in ("failed", "warning")]
    assert [(check.name, check.status) for check in wrong] == [(name, status)]
    assert found in wrong[0].found
    assert fix in wrong[0].fix


def test_a_pyspark_without_a_jar_is_the_one_thing_to_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    old_spark(monkeypatch, tmp_path)
    checks = {check.name: check for check in doctor.examine()}
    assert (checks["jar"].status, checks["jar"].found) == ("skipped", "pyspark selects the jar: first fix pyspark")
    assert checks["session"].found == "not started: first fix pyspark"


def test_spark_3_4_runs_on_java_11(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java_7(monkeypatch, tmp_path)
    java = tmp_path / "bin" / "java"
    java.write_text(java.read_text().replace("1.7.0_80", "11.0.2"))
    old_spark(monkeypatch, tmp_path)
    assert next(check for check in doctor.examine(session=False) if check.name == "java").status == "ok"


def test_nothing_is_wrong_with_delta_before_dovetail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    defaults(f"spark.sql.extensions {DELTA},{EXTENSION}", "spark.jars {jar}")(monkeypatch, tmp_path)
    assert {check.status for check in doctor.examine(session=False)} == {"ok"}


def test_nothing_is_wrong_with_a_class_path_with_a_wildcard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "lib"
    folder.mkdir()
    shutil.copy(jars.jar_path(), folder)
    defaults(f"spark.sql.extensions {EXTENSION}", f"spark.driver.extraClassPath {folder}/*")(monkeypatch, tmp_path)
    assert {check.status for check in doctor.examine(session=False) if check.name == "extension jar"} == {"ok"}
    defaults(f"spark.sql.extensions {EXTENSION}")(monkeypatch, tmp_path)
    for variable, value in (
        ("SPARK_DIST_CLASSPATH", f"/opt/x.jar:{folder}/*"),
        ("PYSPARK_SUBMIT_ARGS", f"--driver-class-path {jars.jar_path()} pyspark-shell"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            found = next(check for check in doctor.examine(session=False) if check.name == "extension jar")
            assert found.status == "ok"


def test_a_client_of_spark_connect_needs_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    no_java(monkeypatch, tmp_path)
    # pyspark-client has no py4j, so this import fails
    monkeypatch.delattr("pyspark.SparkContext")
    checks = {check.name: check for check in doctor.examine()}
    assert {checks["java"].status, checks["session"].status} == {"skipped"}
    assert "dovetail.status(spark) shows" in checks["session"].found
    assert "failed" not in {check.status for check in checks.values()}


def test_statistics_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    defaults("spark.dovetail.store.path file:{tmp}/store")(monkeypatch, tmp_path)
    assert "none yet in" in statistics().found
    (tmp_path / "store").mkdir()
    for name in ("a.stats", "b.stats"):
        (tmp_path / "store" / name).touch()
    assert f"for 2 tables in {tmp_path / 'store'}, the oldest 0 days old" in statistics().found
    defaults("spark.dovetail.store.path s3a://bucket/store")(monkeypatch, tmp_path)
    assert "not checked" in statistics().found


@pytest.mark.skipif(sys.platform != "linux", reason="os.setresuid")
def test_a_store_below_a_directory_that_cannot_be_read() -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0)
        with as_a_user():
            assert _unwritable(Path(home, "shared", "store")) == f"no permission to write to {home}"
        Path(home).chmod(stat.S_IRWXU)


def statistics() -> doctor.Check:
    return next(check for check in doctor.examine(session=False) if check.name == "statistics")
