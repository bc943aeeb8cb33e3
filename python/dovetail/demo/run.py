"""The steps of the demo: generates and registers the data, analyzes it in one pass, runs each query in three modes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import dovetail
from dovetail.demo import page as html
from dovetail.demo import queries as texts_of
from dovetail.demo.data import dataset
from dovetail.demo.measure import Result, measure
from dovetail.demo.session import analyze, register, session
from dovetail.demo.show import Show


def run(scale: float, data_dir: Path | str | None, queries: Sequence[str] | None, repeat: int, page: Path) -> int:
    """Runs the demo; see `dovetail.demo.main`."""
    show = Show()
    started = time.monotonic()
    texts = texts_of.texts(queries)
    data = dataset("tpcds", scale, data_dir)
    show.data(data, time.monotonic() - started)
    with tempfile.TemporaryDirectory(prefix="dovetail-demo-") as work, session(Path(work)) as spark:
        show.session(dovetail.status(spark))
        register(spark, data)
        analyzing = time.monotonic()
        analyze(spark, Path(work), data, texts.values())
        show.analyzed(time.monotonic() - analyzing)
        results = []
        for result in measure(spark, Path(work), texts, repeat):
            show.query(result)
            results.append(result)
    show.summary(results, time.monotonic() - started)
    html.write(page, data, results)
    show.page(page.resolve())
    return exit_code(results)


def exit_code(results: Iterable[Result]) -> int:
    """0 if all answers are the same, else 1."""
    return 0 if all(not result.differences for result in results) else 1
