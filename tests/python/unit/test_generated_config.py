"""The generator reads every form of the registry, and refuses an unknown form rather than leave out a check."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def generator(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_config", root / "python" / "generate_config.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def row(**changes: Any) -> dict[str, Any]:
    plain = {"key": "spark.dovetail.stats.sampleRows", "value": "5", "default": "5", "type": "int", "range": "1 to 10"}
    return {**plain, "doc": "Rows of the sample.", "since": "0.2.0", **changes}


def test_a_row(generator: ModuleType) -> None:
    (key,) = generator.keys_of([row()])
    assert (key.name, key.kind, key.default, key.low, key.high) == ("stats_sample_rows", "int", 5, 1, 10)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"type": "boolean", "default": "true", "range": "true | false"}, "stats_sample_rows: bool = True"),
        ({"type": "double", "default": "0.7", "range": "0.0 to 1.0"}, "stats_sample_rows: float = 0.7"),
        ({"type": "long", "range": "at least 0"}, "stats_sample_rows: int = 5"),
        ({"type": "string", "default": 'a"b', "range": ""}, "stats_sample_rows: str = 'a\"b'"),
        ({"type": "enum", "default": "a", "range": "a | b"}, 'stats_sample_rows: Literal["a", "b"] = "a"'),
    ],
)
def test_every_type(generator: ModuleType, changes: dict[str, Any], field: str) -> None:
    text = generator.render_config(generator.keys_of([row(**changes)]))
    assert f"    {field}\n" in text
    compile(text, "config.py", "exec")


def test_the_docs_name_key_default_and_python(generator: ModuleType) -> None:
    text = generator.render_docs(generator.keys_of([row()]))
    assert "| [`spark.dovetail.stats.sampleRows`](#sparkdovetailstatssamplerows) | `5` | 1 to 10 |" in text
    assert "| `stats_sample_rows` | 0.2.0 |" in text
    assert "## spark.dovetail.stats.sampleRows\n\nRows of the sample.\n" in text


@pytest.mark.parametrize("changes", [{"range": "some"}, {"type": "decimal"}, {"default": "five"}])
def test_what_is_not_understood_is_refused(generator: ModuleType, changes: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError)):
        generator.keys_of([row(**changes)])


def test_one_name_for_two_keys_is_refused(generator: ModuleType) -> None:
    with pytest.raises(ValueError, match="two keys have one Python name: stats_sample_rows"):
        generator.keys_of([row(), row(key="spark.dovetail.stats.sample.rows")])
