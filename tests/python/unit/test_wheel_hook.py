"""No wheel is built while the jar of any Spark line is missing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip(
    "hatchling", reason="hatchling is the build backend; pip installs it in the build's own environment"
)

LINES = [{"line": "3.5", "scalaBinary": "2.12"}, {"line": "4.1", "scalaBinary": "2.13"}]
JARS = ["dovetail-spark-3.5_2.12-1.2.3.jar", "dovetail-spark-4.1_2.13-1.2.3.jar"]


@pytest.fixture(scope="module")
def hook(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", root / "python" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def jars(tmp_path: Path, hook: ModuleType) -> Path:
    directory: Path = tmp_path / hook.JARS
    directory.mkdir(parents=True)
    (directory / "lines.json").write_text(json.dumps(LINES))
    for jar in JARS:
        (directory / jar).touch()
    return directory


def test_all_there(hook: ModuleType, jars: Path, tmp_path: Path) -> None:
    assert hook.missing_files(tmp_path, "1.2.3") == []


def test_each_missing_jar_is_named(hook: ModuleType, jars: Path, tmp_path: Path) -> None:
    (jars / JARS[0]).unlink()
    assert hook.missing_files(tmp_path, "1.2.3") == JARS[:1]


def test_jars_of_another_version_are_missing(hook: ModuleType, jars: Path, tmp_path: Path) -> None:
    assert len(hook.missing_files(tmp_path, "1.2.4")) == 2


def test_no_list_of_lines(hook: ModuleType, jars: Path, tmp_path: Path) -> None:
    (jars / "lines.json").write_text("[]")
    assert hook.missing_files(tmp_path, "1.2.3") == ["lines.json (it lists no Spark line)"]
    (jars / "lines.json").unlink()
    assert hook.missing_files(tmp_path, "1.2.3") == ["lines.json"]


@pytest.mark.lines
def test_the_tree_has_all(hook: ModuleType, root: Path) -> None:
    assert hook.missing_files(root, (root / "VERSION").read_text().strip()) == []
