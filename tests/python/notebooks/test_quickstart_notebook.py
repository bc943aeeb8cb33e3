"""The notebook of the documentation runs as it stands, in a kernel and a JVM of its own, and draws what it promises."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.primary

# A cell may start a JVM, or run a query twice both ways, on a loaded machine.
CELL_SECONDS = 240


def outputs(cell: nbformat.NotebookNode, kind: str) -> str:
    """What a cell showed of one kind: a MIME type, or "stdout"."""
    shown = [out.get("data", {}).get(kind, "") for out in cell.outputs]
    return "".join(shown + [out.text for out in cell.outputs if out.get("name") == kind])


def test_it_runs_and_draws(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    notebook = nbformat.read(root / "docs" / "notebooks" / "quickstart.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "it is kept without outputs"

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root / "python"), os.environ.get("PYTHONPATH", "")]))
    NotebookClient(notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": str(tmp_path)}}).execute()

    session, _, planned, analyzed, ran, compared, _ = code
    assert ": on" in outputs(session, "stdout")
    html = outputs(planned, "text/html")
    assert html.count("<svg") >= 3
    assert "reordered" in html
    assert "Statistics that would help" in html
    assert "DOVETAIL ANALYZE TABLE" in html
    assert "shop.price" in outputs(analyzed, "stdout")
    assert "Statistics that would help" not in outputs(ran, "text/html")
    assert "Estimated and actual rows" in outputs(ran, "text/html")
    assert "same answer" in outputs(compared, "stdout")
