"""The commands in tests/transcripts give the output in their transcripts; `make transcripts` writes new transcripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import line_table
import pytest

TYPED = Path(__file__).parents[2] / "transcripts"
PATHS = sorted(p.stem for p in TYPED.glob("*.txt"))

# Paths that need packages, with the variable for their coordinates; `make test-delta` and `make test-iceberg` set it.
PACKAGES = {"delta": "DOVETAIL_DELTA", "iceberg": "DOVETAIL_ICEBERG"}

(PRIMARY,) = (row["line"] for row in line_table.rows() if row["suite"] == "whole")


@pytest.mark.primary
def test_there_is_one_for_each_path() -> None:
    typed = {p.stem for p in TYPED.iterdir() if p.suffix in (".py", ".sh")}
    # tables.py is no path: it creates the tables that all paths read
    assert typed - {"tables"} == set(PATHS)


@pytest.mark.primary
@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in PATHS if path not in PACKAGES])
def test_what_comes_is_what_is_written(root: Path, path: str) -> None:
    same(root, path)


@pytest.mark.delta
@pytest.mark.skipif("DOVETAIL_DELTA" not in os.environ, reason="DOVETAIL_DELTA has no coordinates: make test-delta")
def test_delta(root: Path, spark_line: tuple[int, int]) -> None:
    of_the_primary_line(spark_line)
    same(root, "delta")


@pytest.mark.iceberg
@pytest.mark.skipif("DOVETAIL_ICEBERG" not in os.environ, reason="DOVETAIL_ICEBERG has no coordinates")
def test_iceberg(root: Path, spark_line: tuple[int, int]) -> None:
    of_the_primary_line(spark_line)
    same(root, "iceberg")


def of_the_primary_line(line: tuple[int, int]) -> None:
    if ".".join(map(str, line)) != PRIMARY:
        pytest.skip(f"transcripts are of Spark {PRIMARY}")


def same(root: Path, path: str) -> None:
    command = [sys.executable, "tools/transcripts.py", "--check", path]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nIf this is meant: make transcripts"
