"""Runs the notebook of the documentation and stores its outputs in the file, for readers who do not run it.

    python tools/notebook.py            # `make notebook`

The outputs come from one run, without the JVM's log and without the times and versions that Jupyter would add. A run
whose outputs differ only in numbers (times, sizes, rows that a sample estimates) does not change the file. A test makes
the same comparison: it runs the notebook and compares the outputs with those in the file.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "notebooks" / "quickstart.ipynb"

# Time limit of a cell, which may start a JVM, or run a query twice in both ways, on a loaded machine.
CELL_SECONDS = 240

# Plans must not depend on the machine's cores and speed: always two cores, and planning budgets that do not run out.
SETTINGS = ["--master", "local[2]"]
for _key in ("planning.maxMs", "footers.maxMs", "reorder.maxPlanningMs"):
    SETTINGS += ["--conf", f"spark.dovetail.{_key}=60000"]

# Numbers with their units, the "-" of a table cell without a number, and text that a narrow column cuts off.
NUMBER = re.compile(r"\S*…|[±]?\d[\d,.]*(e[+-]?\d+)?(x|%|[kMGTB]\b| ?([KMGT]i)?B\b| m?s\b)?|(?<=\s)-(?=\s)")

# Bounds of estimates, which a run may show or not: each run of `analyze` draws another sample, and a bound that is far
# above the estimate is not shown.
BOUNDS = re.compile(r"<t[dh][^>]*>(bounds|up to [^<]*|)</t[dh]>|\bbounds\b|\bup to \d\S*")

# CSS class of a join with a large share of the cost. It depends on numbers, so it is ignored, too.
COSTLY = "costly"


def executed(path: Path = NOTEBOOK) -> nbformat.NotebookNode:
    """The notebook after a run in a new kernel, in a temporary directory."""
    notebook = nbformat.read(path, as_version=4)
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "PYSPARK_SUBMIT_ARGS")}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), before["PYTHONPATH"] or ""])
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*SETTINGS, "pyspark-shell"])
    try:
        with tempfile.TemporaryDirectory() as home:
            resources = {"metadata": {"path": home}}
            NotebookClient(notebook, timeout=CELL_SECONDS, record_timing=False, resources=resources).execute()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return cleaned(notebook)


def cleaned(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without content that belongs to one run or one machine only.

    Raises:
        ValueError: An output names a directory of this machine.
    """
    notebook.metadata = {"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}}
    for cell in code(notebook):
        cell.metadata = {}
        cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
        for directory in (ROOT, Path.home(), Path(tempfile.gettempdir())):
            if f"{directory}/" in str(cell.outputs):
                raise ValueError(f"an output names {directory}: change the cell so that it does not\n{cell.source}")
    return notebook


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The code cells."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def differences(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """The first difference in each cell whose outputs differ in more than numbers, with the number of the cell."""
    found = []
    for number, (a, b) in enumerate(zip_longest(code(stored), code(fresh)), start=1):
        old, new = list(skeleton(a, number)), list(skeleton(b, number))
        for x, y in zip_longest(old, new):
            if x != y:
                found.append(f"code cell {number}: the file has {x!r}, a run gives {y!r}")
                break
    return found


def skeleton(cell: nbformat.NotebookNode | None, number: int) -> Iterator[str]:
    """The parts of a cell that must be the same in every run: its source, elements and words, but not its numbers."""
    if cell is None:
        return
    yield cell.source
    yield f"ran as {cell.execution_count} of {number}"
    for out in cell.outputs:
        yield out.output_type
        for kind, text in sorted({**out.get("data", {}), **({"text": out.text} if "text" in out else {})}.items()):
            yield kind
            told = BOUNDS.sub("", text)
            yield from Elements(told).found if kind == "text/html" else [words(told)]


def words(text: str) -> str:
    """The text with one `0` for each run of numbers, and no layout: a column is as wide as its widest number."""
    flat = re.sub(r"\s+|-{2,}", " ", NUMBER.sub("0", text))
    return re.sub(r"\b0([\s,.]+0)+\b", "0", flat).strip()


class Elements(HTMLParser):
    """The elements of a page with their classes, and its words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps the name and the classes; other attributes of drawings are numbers."""
        classes = (dict(attrs).get("class") or "").split()
        self.found.append(" ".join([f"<{tag}>", *(c for c in classes if c != COSTLY)]))

    def handle_data(self, data: str) -> None:
        """Keeps the words."""
        self.found.append(words(data))


def main() -> int:
    """Runs the notebook; writes it if more than numbers changed."""
    stored, fresh = nbformat.read(NOTEBOOK, as_version=4), executed()
    changed = differences(stored, fresh)
    if changed:
        nbformat.write(fresh, NOTEBOOK)
    print("\n".join([*changed, f"wrote {NOTEBOOK.name}"]) if changed else f"{NOTEBOOK.name} is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
