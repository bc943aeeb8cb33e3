"""TPC-H on every Spark line: Dovetail returns the same rows as plain Spark and DuckDB. TPC-DS runs on one line only.

On the primary line, `make test-around` runs this test, and `make test` runs TPC-DS.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_process import answers


@pytest.mark.slow
@pytest.mark.usefixtures("maven")
def test_no_answer_of_tpch_differs(data_dir: Path, tmp_path: Path) -> None:
    report = answers(data_dir, tmp_path, "--suite", "tpch")
    assert [v for v in report["verdicts"] if v["verdict"] in ("different", "failed")] == []
    assert report["exit code"] == 0
    # 22 queries, two modes, against Spark and against DuckDB.
    assert len(report["verdicts"]) == 22 * 2 * 2
    assert any(v["plan_changed"] for v in report["verdicts"])
