"""The single numbers that pages may hold within a line, by name: each is read from a results file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import mean
from typing import Any

from dovetail_bench import estimation
from dovetail_bench.results_files import ResultsFiles


def _collected(results: ResultsFiles, way: str) -> float:
    """Seconds that a way of collecting takes over all tables: the mean of its rounds."""
    rounds = results.of("collection-sf1").body["rounds"]
    chosen = [line for line in rounds if line["way"].startswith(way)]
    return mean(sum(r["seconds"] for r in chosen if r["round"] == n) for n in {r["round"] for r in chosen})


def _one_pass_share(results: ResultsFiles) -> str:
    return f"{_collected(results, 'Dovetail') / _collected(results, 'Spark'):.2f}"


def _collected_seconds(results: ResultsFiles, way: str) -> str:
    return f"{_collected(results, way):.0f} s"


def _appended_share(results: ResultsFiles) -> str:
    return f"{results.of('collection-sf1').body['appended']['share']:.2f}"


def _estimation(results: ResultsFiles, place: int, form: str) -> str:
    """A figure of `estimation.targets`, which are always in this order."""
    return format(estimation.targets(results.of("estimation-sf1").body)[place]["measured"], form) + " ms"


def _planned(results: ResultsFiles, shape: str, relations: int) -> str:
    shapes: list[Any] = results.of("planning").body["shapes"]
    found = next(s for s in shapes if (s["shape"], s["relations"]) == (shape, relations))
    return f"{found['Dovetail ms']:.0f} ms"


VALUES: Mapping[str, Callable[[ResultsFiles], str]] = {
    "one-pass-share": _one_pass_share,
    "one-pass-seconds": partial(_collected_seconds, way="Dovetail"),
    "spark-analyze-seconds": partial(_collected_seconds, way="Spark"),
    "one-new-file-share": _appended_share,
    "estimates-cached": partial(_estimation, place=0, form=".1f"),
    "estimates-first-look": partial(_estimation, place=1, form=".0f"),
    "planning-clique-12": partial(_planned, shape="clique", relations=12),
    "planning-star-16": partial(_planned, shape="star", relations=16),
    "planning-chain-18": partial(_planned, shape="chain", relations=18),
    "planning-star-100": partial(_planned, shape="star", relations=100),
}
