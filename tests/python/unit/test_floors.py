"""`tools/floors.py` names imports from the same floor, a higher floor or the top, and packages missing in the list."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "floors.py"
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="the tool reads TOML")


@pytest.fixture
def floors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("floors", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "floors", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def faults(floors: ModuleType, directory: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (directory / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "src" / name).write_text(text)
    levels = ({"low": ""}, {"left": "", "right": ""}, {"high": ""})
    found: list[str] = floors.House("test", "our.house", ("src",), levels).faults()
    return found


GOOD = {
    "Low.scala": "package our.house.low\n\nobject Low\n",
    "Left.scala": "package our.house.left\n\nimport our.house.low.Low\n",
    "Right.scala": "package our.house.right\n",
    "High.scala": "package our.house.high\n\nimport our.house.left._\nimport our.house.{right => r}\n",
    "Top.scala": "package our.house\n\nimport our.house.high.High\n",
}


def test_imports_from_below(floors: ModuleType, tmp_path: Path) -> None:
    assert faults(floors, tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        (
            "Low.scala",
            "package our.house.low\nimport our.house.high.{A, B}",
            "low imports high, which is on a floor above",
        ),
        (
            "Low.scala",
            "package our.house.low\nclass A { our.house.left.B }",
            "low imports left, which is on a floor above",
        ),
        (
            "Left.scala",
            "package our.house.left\nimport our.house.right.A",
            "left imports right, which is on its own floor",
        ),
        (
            "Left.scala",
            "package our.house.left\nimport our.house.{A, right => r}",
            "left imports right, which is on its",
        ),
        ("More.scala", "package our.house.more\n", "test: package more has no floor in floors.toml"),
        ("High.scala", "package our.house.low\n", "test: high of floors.toml is no package"),
    ],
)
def test_others_are_named(floors: ModuleType, tmp_path: Path, file: str, text: str, fault: str) -> None:
    found = faults(floors, tmp_path, {**GOOD, file: text})
    assert any(fault in f for f in found), found


def test_comments_import_nothing(floors: ModuleType, tmp_path: Path) -> None:
    text = "package our.house.low\n/* see our.house.high.A */ // our.house.left.B\n"
    assert faults(floors, tmp_path, {**GOOD, "Low.scala": text}) == []


def test_python_modules_that_read_each_other(floors: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "a.py").write_text("from house import b\n")
    (tmp_path / "house" / "b.py").write_text("def f():\n    from house.a import x\n")
    house = floors.House("python", "house", ("house",), ({"a": ""}, {"b": ""}))
    assert house.faults() == ["house/a.py: a imports b, which is on a floor above"]


def test_the_list_of_this_project() -> None:
    spec = importlib.util.spec_from_file_location("floors_here", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["floors_here"] = module
    spec.loader.exec_module(module)
    assert module.main([]) == 0
