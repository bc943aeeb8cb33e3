"""Results as one Markdown page and one JSON file, with what a reader needs to judge them: machine, versions, commit.

Every command of the package ends here. `parse` refuses to measure a tree that differs from its commit, unless `--dirty`
is given. Nobody edits a page by hand: a mistake in a page is corrected in the command, which then measures again, or
`again` makes the page from the runs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from dovetail import __version__
from dovetail_bench import commit

RESULTS = Path(__file__).parent.parent / "results"
GIB = 1 << 30

# Columns of the pages' texts.
WIDTH = 120

# Options that name places. They do not affect results, and would reveal something about the machine.
PLACES = ("data_dir", "results", "tables", "query_file")

# First paragraph of the report of a dirty tree.
DIRTY = "**Measured on a tree that differs from its commit.** These figures belong to no version; they are a trial."


def target(name: str, measured: object, hit: bool, **more: Any) -> dict[str, Any]:
    """A target with the measured value. `more` are columns before it."""
    return {**more, "target": name, "measured": measured, "verdict": "hit" if hit else "MISS", "hit": hit}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that run on a data set."""
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor of the data (1)")
    parser.add_argument("--data-dir", type=Path, default=None, help="where data is kept (the user's cache directory)")
    add_results_option(parser)


def add_results_option(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that need no generated benchmark data."""
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the tables go (benchmarks/results)")
    parser.add_argument("--dirty", action="store_true", help="measure though the tree differs from its commit")


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the options. Ends the command if the tree differs from its commit and --dirty is not given."""
    options = parser.parse_args(arguments)
    found = commit.state()
    if found.dirty and not options.dirty:
        parser.error(f"{found.reason}: commit first, or pass --dirty, which the report then mentions")
    return options


class Page:
    """A page under construction; `write` prints it and writes it to files."""

    def __init__(self, name: str, title: str, data: str = "") -> None:
        """Starts the page of a command. `data` tells its data sets apart in the names of the files."""
        self.name = name
        self._suffix = f"-{data}" if data else ""
        self._parts = [f"# {title}"]

    def text(self, paragraph: str) -> None:
        """Adds a paragraph."""
        self._parts.append(paragraph)

    def table(self, heading: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds a table, with the columns of its first row."""
        self._parts.append(f"## {heading}")
        self._parts.append(table(rows) if rows else "None.")

    def targets(self, targets: Sequence[Mapping[str, Any]]) -> None:
        """Adds the table of targets that `target` made."""
        self.table("Targets", [{k: v for k, v in t.items() if k != "hit"} for t in targets])

    def write(self, options: argparse.Namespace, data: Mapping[str, Any]) -> None:
        """Prints the page, and writes it and its data as `<date>-<command>[-<data>][-sf<scale>]`."""
        chosen = {k: v for k, v in vars(options).items() if k not in PLACES and v not in (None, [], False)}
        options.results.mkdir(parents=True, exist_ok=True)
        suffix = self._suffix + (f"-sf{options.scale:g}" if "scale" in options else "")
        target: Path = options.results / f"{datetime.date.today():%Y-%m-%d}-{self.name}{suffix}.json"
        self._put(target, {"command": self.name, "options": chosen, "environment": machine(), **data})

    def write_again(self, file: Path, body: Mapping[str, Any]) -> None:
        """Writes a page that was made again from the JSON file of a measurement; `body` is its new content."""
        self.text("This page was made again from the runs in its JSON file, by later code.")
        self._put(file, body)

    def _put(self, file: Path, body: Mapping[str, Any]) -> None:
        if commit.is_dirty(body["environment"]["commit"]):
            self._parts.insert(1, DIRTY)
        self.text(f"Made by `python -m dovetail_bench.{self.name}`; {_pairs(body['options'])}.")
        self.text(f"Machine: {_pairs(body['environment'])}.")
        page = "\n\n".join(self._parts) + "\n"
        print(page)
        file.with_suffix(".md").write_text(page, encoding="utf-8")
        file.write_text(json.dumps(body, indent=1, default=str) + "\n", encoding="utf-8")


def machine() -> dict[str, str]:
    """Size of the machine, and versions. No names and no places."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "pyspark": metadata.version("pyspark"),
        "duckdb": metadata.version("duckdb"),
        "dovetail": __version__,
        "commit": commit.state().name,
        "jar": commit.jar_digest(),
    }


def wrapped(text: str) -> str:
    """A paragraph in lines as wide as the pages are, with a line break at its end."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts, with a line break at its end."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table with the columns of its first row."""
    columns = list(rows[0])
    return markdown_table(columns, ([_cell(row.get(c)) for c in columns] for row in rows)).rstrip("\n")


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_cell(value)}" for key, value in values.items())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, list | tuple):
        return " ".join(_cell(v) for v in value)
    return str(value).replace("|", "\\|").replace("\n", " ")
