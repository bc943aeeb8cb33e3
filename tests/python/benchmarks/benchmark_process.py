"""Runs Python with this clone's package and benchmarks in a process of its own: a process has one Spark session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = ROOT / "benchmarks"


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python <arguments>` to its end."""
    path = os.pathsep.join([str(ROOT / "python"), str(BENCHMARKS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
