"""Selects the jar for a Spark version: vendors' versions, unknown lines, missing files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from line_table import LINES, LISTED

from dovetail import jar_path, jars
from dovetail.errors import JarMissingError, UnsupportedSparkError
from dovetail.jars import line_of, parse_line, supported_lines


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("3.5.2-amzn-1", (3, 5)),
        ("3.5.0.0-SNAPSHOT", (3, 5)),
        ("4.1.0.dev0", (4, 1)),
        ("4.2.0-preview2", (4, 2)),
        ("4.0.0rc1", (4, 0)),
        ("3.5.1+databricks.17", (3, 5)),
        ("v4.1", (4, 1)),
        ("4.10.1", (4, 10)),
        (" 4.1 ", (4, 1)),
    ],
)
def test_versions_of_all_vendors(version: str, line: tuple[int, int]) -> None:
    assert parse_line(version) == line


@given(
    major=st.integers(0, 99),
    minor=st.integers(0, 99),
    rest=st.sampled_from(["", ".0", ".3", ".1-amzn-0", ".2.dev0", "-SNAPSHOT", ".0rc2", ".0+local.7", "_vendor"]),
)
def test_every_version_gives_its_line(major: int, minor: int, rest: str) -> None:
    assert parse_line(f"{major}.{minor}{rest}") == (major, minor)


@pytest.mark.parametrize("version", ["", "4", "four.one", "4.", ".1", "4 .1", "4.1 or so"])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(UnsupportedSparkError, match="not a Spark version"):
        parse_line(version)


def test_a_number_is_no_version() -> None:
    with pytest.raises(UnsupportedSparkError, match=r"4\.1 is not a Spark version\. Give text .* such as '4\.1'"):
        jar_path(4.1)  # type: ignore[arg-type]


@pytest.mark.lines
@pytest.mark.parametrize("line", LINES)
def test_every_line_has_a_jar(line: str) -> None:
    path = Path(jar_path(line))
    assert path.is_absolute()
    assert path.stat().st_size > 100_000
    assert path.name == line_of(line).jar_name
    assert f"-{line}_{'2.12' if line == '3.5' else '2.13'}-" in path.name


@pytest.mark.parametrize("version", ["9.9.0", "9.9"])
def test_a_newer_spark_is_refused_with_the_supported_lines(version: str) -> None:
    with pytest.raises(UnsupportedSparkError) as refused:
        jar_path(version)
    message = str(refused.value)
    assert version in message
    assert LISTED in message
    assert "newer than all supported lines" in message
    assert "the wheel of a newer Dovetail" in message


def test_an_older_spark_is_refused() -> None:
    with pytest.raises(
        UnsupportedSparkError, match=r"no jar for Spark 3\.4\.1\. Supported Spark lines: 3\.5"
    ) as refused:
        jar_path("3.4.1")
    assert str(refused.value).endswith("Use a supported Spark; the nearest is 3.5 (pip install 'pyspark==3.5.*').")


def test_a_missing_jar_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lines.json").write_text((jars.JARS / "lines.json").read_text())
    monkeypatch.setattr(jars, "JARS", tmp_path)
    assert [line.name for line in supported_lines()] == LINES
    with pytest.raises(JarMissingError, match=r"Spark 4\.1 is missing: .*dovetail-spark-4\.1_2\.13-.*make jar-4\.1"):
        jar_path("4.1")


def test_a_tree_without_jars_says_how_to_build_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "JARS", tmp_path)
    with pytest.raises(JarMissingError, match="make jars"):
        jar_path("4.1")
