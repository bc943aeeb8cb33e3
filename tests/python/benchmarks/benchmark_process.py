"""Runs Python with this clone's package and benchmarks in a separate process: a process has one Spark session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from dovetail_bench import tiny

ROOT = Path(__file__).resolve().parents[3]

# Small data needs few partitions and no generated code. Otherwise, they would take most of the time.
SETTINGS = {"spark.sql.shuffle.partitions": "2", **tiny.QUERY}
SMALL = (
    "--scale",
    "0.01",
    *(word for key, value in SETTINGS.items() for word in ("--conf", f"{key}={value}")),
    *(word for setting in tiny.session(1) for word in ("--conf", setting)),
)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python <arguments>` to its end."""
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def answers(data: Path, results: Path, *options: str) -> dict[str, Any]:
    """The report of `dovetail_bench.answers`, at a small scale and with DuckDB, and its exit code."""
    places = ("--data-dir", str(data), "--results", str(results))
    run = python("-m", "dovetail_bench.answers", "--dirty", "--duckdb", *SMALL, *places, *options)
    files = list(results.glob("*.json"))
    assert len(files) == 1, run.stderr[-5000:]
    report: dict[str, Any] = json.loads(files[0].read_text())
    return {**report, "exit code": run.returncode}
