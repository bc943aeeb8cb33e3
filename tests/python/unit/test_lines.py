"""The package, its extra, the documentation and tools/line.sh name the same Spark lines as project/lines.txt."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from line_table import LINES, rows

from dovetail.jars import supported_lines

ROWS = rows()
NONE = "-"


def test_the_package_has_the_lines_of_the_table() -> None:
    expected = [(row["line"], row["spark"], ".".join(row["scala"].split(".")[:2])) for row in ROWS]
    assert [(line.name, line.built_for, line.scala_binary) for line in supported_lines()] == expected


def test_the_extra_takes_pyspark_of_every_line_and_of_no_other(root: Path) -> None:
    major, minor = map(int, LINES[-1].split("."))
    assert f'"pyspark>={LINES[0]},<{major}.{minor + 1}"' in (root / "pyproject.toml").read_text(encoding="utf-8")


def test_the_compatibility_page_has_every_line(root: Path) -> None:
    page = (root / "docs" / "compatibility.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (\d\.\d) \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert found == [(row["line"], ".".join(row["scala"].split(".")[:2]), row["pyspark"]) for row in ROWS]


@pytest.mark.parametrize("beside", ["delta", "iceberg"])
def test_the_compatibility_page_has_the_releases_of(beside: str, root: Path) -> None:
    page = (root / "docs" / "compatibility.md").read_text(encoding="utf-8")
    names = {"delta": "Delta Lake", "iceberg": "Iceberg, Hadoop catalog"}
    found = re.search(rf"^\| {names[beside]} \|(.*)\|[^|]*\|$", page, re.MULTILINE)
    assert found is not None
    releases = [row[beside].split(":")[-1] if row[beside] != NONE else "none released" for row in ROWS]
    assert [cell.strip() for cell in found[1].split("|")] == releases


def test_one_line_is_the_primary_one() -> None:
    assert [row["suite"] for row in ROWS].count("whole") == 1
    assert {row["suite"] for row in ROWS} == {"whole", "small"}


def tell(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(root / "tools" / "line.sh"), *words], capture_output=True, text=True, check=False)


def test_the_script_says_what_the_table_says(root: Path) -> None:
    assert tell(root, "names").stdout.split() == LINES
    assert [tell(root, "primary").stdout.strip()] == [row["line"] for row in ROWS if row["suite"] == "whole"]
    for row in ROWS:
        for column in ("pyspark", "scala", "delta"):
            assert tell(root, row["line"], column).stdout.strip() == row[column].removeprefix(NONE)


@pytest.mark.parametrize(("words", "said"), [(["2.4", "scala"], "no Spark line 2.4"), (["4.1", "x"], "no column x")])
def test_the_script_refuses_what_the_table_lacks(words: list[str], said: str, root: Path) -> None:
    done = tell(root, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
