"""Runs session_connect.py in a separate process: a process has either classic sessions or Connect sessions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).with_name("session_connect.py")

# Smallest number of tests in the suite. A suite that collects nothing must not count as passed.
LEAST = 9


@pytest.mark.connect
def test_over_connect(spark_line: tuple[int, int], root: Path) -> None:
    if spark_line < (4, 0):
        pytest.skip(
            "Spark 3.5 has no Connect server in its pyspark package: it takes spark-connect from Maven at run time"
        )
    for module in ("grpc", "pandas", "pyarrow"):
        pytest.importorskip(module, reason="Spark Connect's Python client needs it: pip install 'pyspark[connect]'")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    # SPARK_TESTING makes pyspark's local server take a free port instead of 15002, which may be taken.
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(SUITE)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=root,
        env={**environ, "SPARK_TESTING": "1"},
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert passed is not None
    assert int(passed[1]) >= LEAST
