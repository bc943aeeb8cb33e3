"""Prints the demo's output with rich: one line per finished query, then a table of all queries and a summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from dovetail.demo.data import Dataset
from dovetail.demo.measure import ANALYZED, BARE, MODES, PLAIN, Result, total

if TYPE_CHECKING:
    from dovetail import Run, Status

# Width of the output in characters if stdout is not a terminal, for example a log file. The table of all queries with
# a line per query needs as much; in a narrower terminal, it has a line per query and mode.
LOG_WIDTH = 140

# Width that the table with a line per query and mode needs. In a narrower terminal, its lines are wrapped.
LEAST_WIDTH = 80

MIB = 1 << 20

# If plain Spark's mean time per query is below this many seconds, the times do not show the effect of join orders.
SHORT = 1.0


class Show:
    """The demo's output, on stdout."""

    def __init__(self) -> None:
        probe = Console()
        self.console = probe if probe.is_terminal else Console(width=LOG_WIDTH)

    def data(self, data: Dataset, seconds: float) -> None:
        """Reports that the data set is ready."""
        rows = sum(data.rows.values())
        self._line(
            f"TPC-DS scale {data.scale:g}: {len(data.rows)} tables, {rows:,} rows in {data.directory} ({seconds:.0f} s)"
        )

    def session(self, status: Status) -> None:
        """Reports that the session has started."""
        self._line(f"{status}; {os.cpu_count()} cores")

    def analyzed(self, seconds: float) -> None:
        """Reports that the statistics for the last mode are collected."""
        self._line(f"dovetail.analyze: one pass over the tables of these queries ({seconds:.0f} s)\n")

    def query(self, result: Result) -> None:
        """Prints the numbers of one query."""
        plain, bare, analyzed = (result.runs[mode] for mode in MODES)
        verdict = "[red]DIFFERENT ANSWERS[/]" if result.differences else f"[green]same {plain.rows} rows[/]"
        self._line(
            f"[bold]{result.name:4}[/] {_each(plain, bare, analyzed, 'median_seconds')} s, "
            f"{_each(plain, bare, analyzed, 'join_rows')} rows out of joins, "
            f"order {'changed' if result.changed else 'kept'}, {verdict}"
        )
        for difference in result.differences:
            self._line(f"  [red]{difference}[/]")

    def summary(self, results: Sequence[Result], seconds: float) -> None:
        """Prints the table of all queries, and their totals in a sentence."""
        rows = [_row([result], result.name, "changed" if result.changed else "kept") for result in results]
        rows.append(_row(results, "all", f"{sum(result.changed for result in results)} changed"))
        self.console.print()
        if self.console.width >= LOG_WIDTH:
            self.console.print(_a_line_each(rows))
        else:
            wide = Console(width=max(self.console.width, LEAST_WIDTH))
            wide.print(_a_line_per_mode(rows), soft_wrap=True)
        self._line(sentence(results))
        different = [result.name for result in results if result.differences]
        if different:
            self._line(f"[red]DIFFERENT ANSWERS: {', '.join(different)}[/]")
        else:
            self._line(f"All {len(results)} answers are the same. {seconds:.0f} s in all.")

    def page(self, page: Path) -> None:
        """Prints the path of the page."""
        self._line(f"Bars and join orders: {page}")

    def _line(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Row:
    """Texts of one query or of all, each measure in the order of `MODES`."""

    name: str
    measures: tuple[Sequence[str], Sequence[str], Sequence[str]]
    order: str


MEASURES = ("rows out of joins", "shuffled MiB", "seconds")
SHORT_NAMES = {PLAIN: "Spark", BARE: "nothing", ANALYZED: "one pass"}
TITLE = "Plain Spark; Dovetail with nothing analyzed; after one pass"


def _row(results: Sequence[Result], name: str, order: str) -> Row:
    """The sums of some queries."""
    measures = (
        [f"{total(results, mode, 'join_rows'):,.0f}" for mode in MODES],
        [f"{total(results, mode, 'shuffle_bytes') / MIB:,.1f}" for mode in MODES],
        [f"{total(results, mode, 'median_seconds'):.2f}" for mode in MODES],
    )
    return Row(name, measures, order)


def _a_line_each(rows: Sequence[Row]) -> Table:
    """A line per query, with three columns per measure. The last row has the totals."""
    table = Table(title=TITLE, title_justify="left")
    table.add_column("\nquery")
    for what in MEASURES:
        for mode, title in zip(MODES, (what, "", ""), strict=True):
            table.add_column(f"{title}\n{SHORT_NAMES[mode]}", justify="right")
    table.add_column("\norder")
    for row in rows:
        if row is rows[-1]:
            table.add_section()
        table.add_row(row.name, *(cell for measure in row.measures for cell in measure), row.order)
    return table


def _a_line_per_mode(rows: Sequence[Row]) -> Table:
    """Three lines per query, one per mode, for a narrow terminal."""
    table = Table(title=TITLE, title_justify="left")
    for title in ("query", "order", "mode", *MEASURES):
        table.add_column(title, justify="right" if title in MEASURES else "left", no_wrap=True)
    for row in rows:
        for at, mode in enumerate(MODES):
            names = (row.name, row.order) if at == 0 else ("", "")
            table.add_row(*names, SHORT_NAMES[mode], *(measure[at] for measure in row.measures))
        table.add_section()
    return table


def sentence(results: Sequence[Result]) -> str:
    """The totals of all queries as a sentence."""
    plain, bare, analyzed = (total(results, mode, "median_seconds") for mode in MODES)
    rows = [total(results, mode, "join_rows") for mode in MODES]
    said = (
        f"Dovetail's joins return {_share(rows[1], rows[0])} of plain Spark's rows with nothing analyzed and "
        f"{_share(rows[2], rows[0])} after one pass; the queries take {_share(bare, plain)} and "
        f"{_share(analyzed, plain)} of its time."
    )
    if plain / len(results) < SHORT:
        said += (
            f" Plain Spark needs {plain / len(results):.2f} s per query. Most of it is planning and starting "
            "tasks, so the times do not show the effect of the order. Look at the rows, or at the seconds of --scale 1."
        )
    return said


def _share(ours: float, plain: float) -> str:
    return "-" if plain == 0 else f"{ours / plain:.0%}"


def _each(plain: Run, bare: Run, analyzed: Run, what: str) -> str:
    values = [getattr(run, what) for run in (plain, bare, analyzed)]
    return " → ".join(f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in values)
