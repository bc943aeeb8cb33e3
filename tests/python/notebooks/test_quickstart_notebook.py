"""The notebook of the documentation runs, draws its pictures, and its file has the outputs of such a run."""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

pytestmark = pytest.mark.primary


@pytest.fixture(scope="module")
def tool(root: Path) -> ModuleType:
    """`tools/notebook.py`, which runs the notebook and compares outputs."""
    spec = importlib.util.spec_from_file_location("notebook", root / "tools" / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stored(tool: ModuleType) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(tool.NOTEBOOK, as_version=4)
    return notebook


def outputs(cell: nbformat.NotebookNode, kind: str) -> str:
    """The output of a cell of one kind: a MIME type, or "stdout"."""
    shown = [out.get("data", {}).get(kind, "") for out in cell.outputs]
    return "".join(shown + [out.text for out in cell.outputs if out.get("name") == kind])


def test_it_runs_and_draws_what_its_file_has(tool: ModuleType, stored: nbformat.NotebookNode) -> None:
    fresh = tool.executed()
    session, _, planned, analyzed, ran, compared, _ = tool.code(fresh)
    assert ": on" in outputs(session, "stdout")
    html = outputs(planned, "text/html")
    assert html.count("<svg") >= 3
    assert "reordered" in html
    # the source of the estimate for its CSV table, of which Dovetail reads lines
    assert "sample" in html
    assert "shop.price" in outputs(analyzed, "stdout")
    assert "Statistics that would help" not in outputs(ran, "text/html")
    assert "Estimated and actual rows" in outputs(ran, "text/html")
    assert "same answer" in outputs(compared, "stdout")
    assert tool.differences(stored, fresh) == [], "its outputs are old: make notebook"


def test_its_file_has_nothing_of_the_machine(tool: ModuleType, stored: nbformat.NotebookNode) -> None:
    assert stored == tool.cleaned(copy.deepcopy(stored))
    named = copy.deepcopy(stored)
    tool.code(named)[0].outputs[0].text = f"read {tool.ROOT}/README.md"
    with pytest.raises(ValueError, match="names"):
        tool.cleaned(named)


def test_other_words_are_a_difference_and_other_numbers_are_not(tool: ModuleType) -> None:
    before = "rows 12.5M ±3%  1.1e+09 off by 1.0x in 151 ms, 9.2 MiB  -\n  ---\nfrequent exact: 0 889, 1 8…"
    after = "rows   980 ±11%  24    off by   2x in 1.2 s, 320 B  7\n  ------\nfrequent exact: 0 1,889…"
    assert tool.words(before) == tool.words(after)
    assert tool.words(before) != tool.words(before.replace("off by", "off"))
    page = '<table class="{}"><td>{} rows</td></table>'
    assert tool.Elements(page.format("wide", 3)).found == tool.Elements(page.format("wide", "2.4k")).found
    assert tool.Elements(page.format("wide", 3)).found != tool.Elements(page.format("tall", 3)).found
