"""The doctor's checks, each on a machine with a fault: no Java, an old Java, another SPARK_HOME, a missing jar."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from line_table import LISTED

from dovetail import doctor, jars


def java_saying(tmp_path: Path, output: str) -> Path:
    """A JAVA_HOME whose java prints this version."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{output}\nEND\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def check(name: str) -> doctor.Check:
    return next(check for check in doctor.examine(session=False) if check.name == name)


def test_this_machine_is_fine() -> None:
    assert [(c.name, c.status) for c in doctor.examine(session=False) if c.status != "ok"] == []


@pytest.mark.parametrize(
    ("output", "release"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("Error: no such thing", None),
    ],
)
def test_java_versions(output: str, release: int | None) -> None:
    assert doctor.java_release(output) == release


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert check("java").status == "failed"
    assert "set JAVA_HOME to it" in check("java").fix
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check("java").found == "java is not on the PATH"
    assert "install Java 17" in check("java").fix


@pytest.mark.parametrize(
    ("pyspark", "printed", "status", "needs"),
    [
        ("3.5.9", "1.8.0_402", "failed", "needs Java 11 or 17: install Java 17"),
        ("3.5.9", "11.0.22", "ok", ""),
        ("3.5.9", "17.0.9", "ok", ""),
        ("4.0.4", "1.8.0_402", "failed", "needs Java 17 or 21: install Java 17"),
        ("4.0.4", "11.0.22", "failed", "needs Java 17 or 21: install Java 17"),
        ("4.3.0", "17.0.9", "ok", ""),
        ("4.3.0", "21.0.2", "ok", ""),
    ],
)
def test_java_by_spark_line(
    pyspark: str, printed: str, status: str, needs: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Spark 3.5 runs on Java 8, but its jar of Dovetail does not."""
    monkeypatch.setattr(doctor, "pyspark_version", lambda: pyspark)
    monkeypatch.setenv("JAVA_HOME", str(java_saying(tmp_path, f'openjdk version "{printed}"')))
    java = doctor._java()
    assert java.status == status
    assert java.found.startswith(f"{printed.removeprefix('1.').split('.')[0]} (")
    assert needs in java.fix


def test_a_java_that_is_newer_than_spark_knows_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_saying(tmp_path, 'openjdk version "99"')))
    assert check("java").status == "warning"


def test_another_spark_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spark_line: tuple[int, int]) -> None:
    (tmp_path / "jars").mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert check("spark home").status == "warning"
    other = "4.0.1" if spark_line == (3, 5) else "3.5.1"
    (tmp_path / "jars" / f"spark-core_2.13-{other}.jar").touch()
    assert check("spark home").status == "failed"
    assert f"is Spark {other}" in check("spark home").found
    (tmp_path / "jars" / f"spark-core_2.13-{other}.jar").unlink()
    scala = "2.12" if spark_line == (3, 5) else "2.13"
    (tmp_path / "jars" / f"spark-core_{scala}-{spark_line[0]}.{spark_line[1]}.0-vendor-1.jar").touch()
    assert check("spark home").status == "ok"


def test_a_spark_without_a_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "pyspark_version", lambda: "9.9.0")
    assert check("pyspark").status == "failed"
    assert LISTED in check("pyspark").fix


def test_a_missing_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lines.json").write_text((jars.JARS / "lines.json").read_text())
    monkeypatch.setattr(jars, "JARS", tmp_path)
    checks = {c.name: c for c in doctor.examine()}
    assert checks["jar"].status == "failed"
    assert "make jar" in checks["jar"].fix
    assert checks["session"].status == "skipped"
    assert checks["session"].found == "not started: first fix jar"


def test_a_session_that_does_not_start_is_a_failure_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://elsewhere")
    session = next(check for check in doctor.examine() if check.name == "session")
    assert session.status == "failed"
    assert "sc://elsewhere" in session.found
    assert "unset it" in session.fix
