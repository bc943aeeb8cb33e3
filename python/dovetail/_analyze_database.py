"""Analyzing a database, in either mode of `analyze`: its tables one after the other, and what became of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dovetail._analyze_target import Database
from dovetail._watch import Tell
from dovetail.errors import AnalyzeError, AnalyzeIncompleteError
from dovetail.progress import progress as shown_progress
from dovetail.statistics import DatabaseStats, TableStats


def every_table(database: Database, analyze: Callable[[str, Tell], TableStats], progress: bool) -> DatabaseStats:
    """Every table in turn. One that fails does not stop the others: hours may lie behind.

    Raises:
        AnalyzeIncompleteError: `analyze` raised an AnalyzeError for some tables; the others are in its `done`.
    """
    done: list[TableStats] = []
    failures: dict[str, str] = {}
    with shown_progress(f"analyze {database.name}", len(database.tables), progress) as shown:
        for name in database.tables:
            with shown.step(name) as tell:
                try:
                    done.append(replace(analyze(name, tell), table=name))
                except AnalyzeError as error:
                    failures[name] = str(error)
    result = DatabaseStats(database.name, tuple(done))
    if failures:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise AnalyzeIncompleteError(
            f"{len(failures)} of {len(database.tables)} tables of {database.name} could not be analyzed ({reasons}). "
            "The others were; their statistics are in this error's `done`.",
            result,
            failures,
        )
    return result
