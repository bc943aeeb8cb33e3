"""What the demo prints, with rich: each query when it is done, then the table of all."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dovetail.demo.data import Dataset

if TYPE_CHECKING:
    from dovetail import Comparison, Run, Status

# Columns of output in a log file, which has no width of its own. A terminal's width wins.
LOG_WIDTH = 140

MIB = 1 << 20


class Show:
    """The demo's output, on stdout."""

    def __init__(self) -> None:
        probe = Console()
        self.console = probe if probe.is_terminal else Console(width=LOG_WIDTH)

    def data(self, data: Dataset, seconds: float) -> None:
        """The data set is there."""
        rows = sum(data.rows.values())
        self._line(
            f"TPC-DS scale {data.scale:g}: {len(data.rows)} tables, {rows:,} rows in {data.directory} ({seconds:.0f} s)"
        )

    def session(self, status: Status) -> None:
        """The session is up."""
        self._line(f"{status}; {os.cpu_count()} cores")

    def analyzed(self, seconds: float) -> None:
        """The statistics are there."""
        self._line(f"Columns that the queries name analyzed by Spark's ANALYZE TABLE ({seconds:.0f} s)\n")

    def running(self, name: str) -> AbstractContextManager[object]:
        """While a query runs both ways."""
        return self.console.status(f"{name}: plain Spark and Dovetail, warm-up and measured runs")

    def query(self, name: str, result: Comparison) -> None:
        """One query's numbers and join orders."""
        plain, ours = result.plain, result.dovetail
        self._line(
            f"[bold]{name}[/]  {_seconds(plain)} → {_seconds(ours)}, "
            f"join rows {plain.join_rows:,} → {ours.join_rows:,}, "
            f"shuffled {_mib(plain)} → {_mib(ours)}  {_answer(result)}"
        )
        if result.reordered:
            for title, orders in (("Spark   ", plain.orders), ("Dovetail", ours.orders)):
                for order in orders:
                    self._line(f"  [dim]{title}[/] {escape(order)}")
        else:
            self._line("  [dim]order kept[/]")
        for difference in result.differences:
            self._line(f"  [red]{escape(difference)}[/]")

    def summary(self, results: Mapping[str, Comparison], seconds: float) -> None:
        """The table of all queries."""
        table = Table(title="Plain Spark → Dovetail", title_justify="left")
        table.add_column("\nquery")
        for title in (
            "join rows\nSpark",
            "\nDovetail",
            "\nratio",
            "shuffled\nSpark",
            "\nDovetail",
            "time\nSpark",
            "\nDovetail",
            "\nratio",
        ):
            table.add_column(title, justify="right")
        table.add_column("\norder")
        table.add_column("\nanswer")
        for name, result in results.items():
            plain, ours = result.plain, result.dovetail
            table.add_row(
                name,
                f"{plain.join_rows:,}",
                f"{ours.join_rows:,}",
                _ratio(ours.join_rows, plain.join_rows),
                _mib(plain),
                _mib(ours),
                _seconds(plain),
                _seconds(ours),
                _ratio(ours.median_seconds, plain.median_seconds),
                "changed" if result.reordered else "kept",
                _answer(result),
            )
        plains, all_ours = [r.plain for r in results.values()], [r.dovetail for r in results.values()]
        table.add_section()
        table.add_row(
            "all",
            f"{sum(r.join_rows for r in plains):,}",
            f"{sum(r.join_rows for r in all_ours):,}",
            _ratio(sum(r.join_rows for r in all_ours), sum(r.join_rows for r in plains)),
            f"{sum(r.shuffle_bytes for r in plains) / MIB:.1f} MiB",
            f"{sum(r.shuffle_bytes for r in all_ours) / MIB:.1f} MiB",
            f"{sum(r.median_seconds for r in plains):.2f} s",
            f"{sum(r.median_seconds for r in all_ours):.2f} s",
            _ratio(sum(r.median_seconds for r in all_ours), sum(r.median_seconds for r in plains)),
            f"{sum(r.reordered for r in results.values())} changed",
            "",
        )
        self.console.print()
        self.console.print(table)
        different = [name for name, result in results.items() if not result.same_answer]
        if different:
            self._line(f"[red]DIFFERENT ANSWERS: {', '.join(different)}[/]")
        else:
            self._line(f"All {len(results)} answers are the same. {seconds:.0f} s in all.")

    def _line(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)


def _answer(result: Comparison) -> str:
    return f"[green]same {result.plain.rows} rows[/]" if result.same_answer else "[red]DIFFERENT[/]"


def _seconds(run: Run) -> str:
    return f"{run.median_seconds:.2f} s"


def _mib(run: Run) -> str:
    return f"{run.shuffle_bytes / MIB:.1f} MiB"


def _ratio(ours: float, plain: float) -> str:
    return "-" if plain == 0 or math.isnan(plain) else f"{ours / plain:.2f}"
