"""The demo's way from data to verdict: generate, register and analyze, then each query with and without Dovetail."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import dovetail
from dovetail.comparison import Comparison
from dovetail.demo import queries as texts_of
from dovetail.demo.data import dataset
from dovetail.demo.session import prepare, session
from dovetail.demo.show import Show


def run(scale: float, data_dir: Path | str | None, queries: Sequence[str] | None, repeat: int) -> int:
    """Runs the demo; see `dovetail.demo.main`."""
    show = Show()
    started = time.monotonic()
    texts = texts_of.texts(queries)
    data = dataset("tpcds", scale, data_dir)
    show.data(data, time.monotonic() - started)
    with session() as spark:
        show.session(dovetail.status(spark))
        analyzing = time.monotonic()
        prepare(spark, data, texts.values())
        show.analyzed(time.monotonic() - analyzing)
        results = {}
        for name, text in texts.items():
            with show.running(name):
                results[name] = dovetail.compare(spark, text, repeat=repeat)
            show.query(name, results[name])
    show.summary(results, time.monotonic() - started)
    return exit_code(results.values())


def exit_code(results: Iterable[Comparison]) -> int:
    """0 if all answers are the same, else 1."""
    return 0 if all(result.same_answer for result in results) else 1
