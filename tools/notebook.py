"""Runs the notebook of the documentation and keeps its outputs in the file: what a reader sees without running it.

    python tools/notebook.py            # `make notebook`

The outputs are those of one run, without what the JVM logs and without times and versions that Jupyter would add. A run
whose outputs differ in numbers only (times, sizes, rows that a sample estimates) leaves the file as it is. A test asks
for the same: it runs the notebook and compares with what the file has.
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

# A cell may start a JVM, or run a query twice both ways, on a loaded machine.
CELL_SECONDS = 240

# A machine's cores and speed must not choose a plan: two cores everywhere, and no budget of planning that runs out.
SETTINGS = ["--master", "local[2]"]
for _key in ("planning.maxMs", "footers.maxMs", "reorder.maxPlanningMs"):
    SETTINGS += ["--conf", f"spark.dovetail.{_key}=60000"]

# Numbers with their units, the "-" of a table where there is none, and what a narrow column cuts off.
NUMBER = re.compile(r"\S*…|[±]?\d[\d,.]*(e[+-]?\d+)?(x|%|[kMGTB]\b| ?([KMGT]i)?B\b| m?s\b)?|(?<=\s)-(?=\s)")

# Bounds: each run of `analyze` draws a sample of its own, and a bound that is far above the estimate is not shown.
BOUNDS = re.compile(r"<t[dh][^>]*>(bounds|up to [^<]*|)</t[dh]>|\bbounds\b|\bup to \d\S*")

# The class of a join whose share of the cost is large: a number, too.
COSTLY = "costly"


def executed(path: Path = NOTEBOOK) -> nbformat.NotebookNode:
    """The notebook after a run in a kernel of its own, in a directory that is thrown away."""
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
    """The notebook without what is of one run or one machine only.

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
    """The cells that run."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def differences(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """For each cell whose outputs differ in more than numbers: its number and the first place where they do."""
    found = []
    for number, (a, b) in enumerate(zip_longest(code(stored), code(fresh)), start=1):
        old, new = list(skeleton(a, number)), list(skeleton(b, number))
        for x, y in zip_longest(old, new):
            if x != y:
                found.append(f"code cell {number}: the file has {x!r}, a run gives {y!r}")
                break
    return found


def skeleton(cell: nbformat.NotebookNode | None, number: int) -> Iterator[str]:
    """What of a cell must be the same in every run: its text, elements and words, not its numbers."""
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
        """Keeps name and class; an attribute of a drawing is a number."""
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
