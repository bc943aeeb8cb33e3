"""The command line: what programs read is alone on stdout, failures have exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from line_table import LISTED
from typer.testing import CliRunner

import dovetail
from dovetail import doctor
from dovetail.cli import app
from dovetail.jars import pyspark_version

run = CliRunner().invoke


def test_version() -> None:
    result = run(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"dovetail {dovetail.__version__}\n")


def test_jar_path_alone_on_stdout() -> None:
    result = run(app, ["jar-path"])
    assert (result.exit_code, result.stdout) == (0, dovetail.jar_path() + "\n")
    line = pyspark_version().rsplit(".", 1)[0]
    assert run(app, ["jar-path", "--spark-version", f"{line}.2-amzn-1"]).stdout == dovetail.jar_path(line) + "\n"


def test_jar_path_of_an_unknown_spark() -> None:
    result = run(app, ["jar-path", "--spark-version", "9.9.0"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert f"Supported Spark lines: {LISTED}" in result.stderr


def test_submit_args(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    result = run(app, ["submit-args"])
    words = f"--jars {dovetail.jar_path()} --conf spark.sql.extensions=dovetail.DovetailExtensions\n"
    assert (result.exit_code, result.stdout) == (0, words)
    assert "after a comma" in result.stderr


def test_submit_args_show_how_to_keep_what_spark_defaults_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.extensions io.example.Other\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    result = run(app, ["submit-args"])
    assert "spark.sql.extensions=io.example.Other,dovetail.DovetailExtensions" in result.stderr


@pytest.mark.parametrize("status", ["ok", "warning", "failed"])
def test_doctor_fails_where_a_check_fails(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    checks = [doctor.Check("java", status, "8 [/usr/bin]", "install Java 17")]  # type: ignore[arg-type]
    monkeypatch.setattr(doctor, "examine", lambda: checks)
    result = run(app, ["doctor"])
    assert result.exit_code == (1 if status == "failed" else 0)
    assert "8 [/usr/bin]" in result.stdout
    assert "java: install Java 17" in result.stdout
    as_json = run(app, ["doctor", "--json"])
    assert as_json.exit_code == result.exit_code
    assert json.loads(as_json.stdout) == [checks[0].to_dict()]


def test_help_lists_the_commands() -> None:
    text = run(app, ["--help"]).stdout
    for command in ("explain", "analyze", "compare", "demo", "doctor", "jar-path", "submit-args", "init-script"):
        assert command in text
