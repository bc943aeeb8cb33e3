"""Runs each query of the demo in each mode, and compares the answers with those of plain Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._settings import STORE_PATH
from dovetail.comparison import Run, differences, run_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Mode:
    """One way to run a query: its title in tables, whether Dovetail is on, and whether it sees collected statistics."""

    title: str
    enabled: bool
    analyzed: bool

    def settings(self, stores: Path) -> dict[str, str]:
        """Session settings for this mode; collected statistics have a separate store."""
        store = stores / ("analyzed" if self.analyzed else "empty")
        return {_sql.ENABLED_KEY: str(self.enabled).lower(), STORE_PATH: store.as_posix()}


PLAIN = Mode("plain Spark", False, False)
BARE = Mode("Dovetail, nothing analyzed", True, False)
ANALYZED = Mode("Dovetail, after one pass", True, True)
MODES = (PLAIN, BARE, ANALYZED)


@dataclass(frozen=True)
class Result:
    """One query: its runs by mode, and the differences from plain Spark's answer as text."""

    name: str
    runs: Mapping[Mode, Run]
    differences: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Whether Dovetail ran the joins in another order than plain Spark, in one of its modes."""
        return any(run.orders != self.runs[PLAIN].orders for run in self.runs.values())


def measure(spark: SparkSession, stores: Path, texts: Mapping[str, str], repeat: int) -> Iterator[Result]:
    """Runs every query `repeat` times in each mode. The first mode rotates, because the first run is slower."""
    for number, (name, text) in enumerate(texts.items()):
        reports: dict[Mode, list[dict[str, Any]]] = {mode: [] for mode in MODES}
        for turn in range(number, number + repeat):
            for mode in (*MODES[turn % len(MODES) :], *MODES[: turn % len(MODES)]):
                with _sql.settings(spark, mode.settings(stores)):
                    reports[mode].append(_sql.profile(spark, text))
        yield Result(name, {mode: run_of(found) for mode, found in reports.items()}, _differing(reports))


def _differing(reports: Mapping[Mode, Sequence[Mapping[str, Any]]]) -> tuple[str, ...]:
    plain = reports[PLAIN][0]["digest"]
    found = [
        f"{mode.title}: {difference}"
        for mode, runs in reports.items()
        for run in runs
        for difference in differences(plain, run["digest"])
    ]
    return tuple(dict.fromkeys(found))


def total(results: Sequence[Result], mode: Mode, what: str) -> float:
    """Sum of an attribute of `Run` over all queries."""
    return float(sum(getattr(result.runs[mode], what) for result in results))
