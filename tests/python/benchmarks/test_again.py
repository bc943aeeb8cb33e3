"""Pages made again from their JSON files: the runs stay, the targets are those of the code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dovetail_bench import again
from dovetail_bench.report import RESULTS

pytestmark = pytest.mark.primary


@pytest.mark.parametrize("command", ["times-tpch-sf10", "join_rows-tpch-sf1"])
def test_runs_stay_and_targets_are_judged_again(command: str, tmp_path: Path) -> None:
    source = max(RESULTS.glob(f"????-??-??-{command}.json"))
    file = tmp_path / source.name
    shutil.copy(source.with_suffix(".md"), file.with_suffix(".md"))
    body = json.loads(source.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**body, "targets": []}), encoding="utf-8")
    again.main([str(file)])
    made = json.loads(file.read_text(encoding="utf-8"))
    assert {**made, "targets": []} == {**made, **body, "targets": []}
    assert {"target", "measured", "verdict", "hit"} == set(made["targets"][0])
    page = file.with_suffix(".md").read_text(encoding="utf-8")
    assert "This page was made again from the runs in its JSON file" in page
    assert f"commit {body['environment']['commit']}" in page


def test_results_of_other_commands_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "2026-01-01-start.json"
    file.write_text('{"command": "start"}', encoding="utf-8")
    with pytest.raises(KeyError, match="start"):
        again.make(file)
