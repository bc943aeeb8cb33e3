"""Join orders and estimates on real data, engine by engine, against the truth: any folder of Parquet, any query file.

    python -m dovetail_bench.real_data --tables DIR --queries FILE

Queries are only planned. All true sizes come from the query file (`query_file`); `true_sizes` makes one from SQL texts.
Exit code 1 if a query fails in one of Dovetail's engines, or with --gate if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from dovetail import _spark_errors
from dovetail.errors import DovetailError
from dovetail_bench import real_engines, report
from dovetail_bench.accuracy import EstimatePair
from dovetail_bench.duckdb_engine import duckdb_engine
from dovetail_bench.join_order import cout
from dovetail_bench.postgresql_engine import postgresql_engine
from dovetail_bench.progress import say
from dovetail_bench.query_file import RealQuery, add_options, key, read_complete
from dovetail_bench.real_data_report import DOVETAIL_ENGINES, Measurement, Results, targets, write_page
from dovetail_bench.real_engines import Engine
from dovetail_bench.session import add_session_options, bench
from dovetail_bench.tables import find, views
from dovetail_bench.true_sizes import TrueSizes

Start = Callable[[Mapping[str, Path], Path], AbstractContextManager[Engine]]

# Engine → title and start. They run in this order: `dovetail_bare` runs before anything is collected.
SPARK_ENGINES = {
    "spark": ("Spark", real_engines.plain),
    "dovetail_bare": ("Dovetail, nothing analyzed", real_engines.bare),
    "spark_cbo": ("Spark CBO", real_engines.cbo),
    "spark_cbo_histograms": ("Spark CBO, histograms", real_engines.cbo_histograms),
    "dovetail": ("Dovetail", real_engines.analyzed),
    "dovetail_true": ("Dovetail, true sizes", real_engines.true_sizes),
}
OTHER_ENGINES: dict[str, tuple[str, Start]] = {
    "postgresql": ("PostgreSQL", postgresql_engine),
    "duckdb": ("DuckDB", duckdb_engine),
}
ENGINES = (*SPARK_ENGINES, *OTHER_ENGINES)
DEFAULT_ENGINES = tuple(name for name in ENGINES if name not in ("spark", "dovetail_true"))


def run(options: argparse.Namespace) -> Results:
    """Measures the chosen engines."""
    tables = find(options.tables)
    queries = read_complete(options.query_file, tables)
    measured: dict[str, Measurement] = {}
    with (
        views(tables) as connection,
        tempfile.TemporaryDirectory(prefix="dovetail-real-") as work,
        ExitStack() as stack,
    ):
        truth = TrueSizes(connection)
        starts: dict[str, tuple[str, Start]] = dict(OTHER_ENGINES)
        if any(name in SPARK_ENGINES for name in options.engines):
            session = stack.enter_context(bench(options))
            starts |= {name: (title, partial(start, session)) for name, (title, start) in SPARK_ENGINES.items()}
        # Engines that may be missing on this machine come first: the run then ends at once, not after Spark's minutes.
        for name in (name for name in (*OTHER_ENGINES, *SPARK_ENGINES) if name in options.engines):
            title, start = starts[name]
            say(f"{name}: reading the tables")
            started = time.monotonic()
            with start(tables, Path(work)) as engine:
                measured[name] = Measurement(title, engine.version, round(time.monotonic() - started, 1))
                for query in queries:
                    _measure(engine, query, truth, measured[name])
            say(f"{name}: {len(measured[name].couts)} orders, {len(measured[name].estimates)} estimates")
    return Results(
        {q.name: q.best for q in queries},
        {q.name: len(q.join.tables) for q in queries},
        {name: measured[name] for name in ENGINES if name in measured},
    )


def _measure(engine: Engine, query: RealQuery, truth: TrueSizes, result: Measurement) -> None:
    try:
        order = engine.order(query)
        values = {relations: engine.estimate(query, relations) for relations in query.sizes}
    except Exception as failed:  # an error of the engine is a finding about this query and does not end the run
        result.failures[query.name] = _spark_errors.reason(failed)
        return
    result.orders[query.name] = str(order)
    result.couts[query.name] = cout(order, partial(truth.of_order, query))
    for relations, value in values.items():
        if value is None:
            result.unknown += 1
        else:
            true = query.sizes[relations]
            result.estimates.append(EstimatePair(query.name, key(relations), len(relations) - 1, value, true))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.real_data", description=head)
    add_options(parser)
    parser.add_argument(
        "--engines", type=_engines, default=DEFAULT_ENGINES, metavar="NAME,…", help=f"of {', '.join(ENGINES)}"
    )
    parser.add_argument(
        "--max-ratio",
        type=_max_ratio,
        action="append",
        default=[],
        metavar="ENGINE=RATIO",
        help="a target: the geometric mean of C_out / best that an engine may have",
    )
    parser.add_argument("--gate", action="store_true", help="exit code 1 if a target is missed")
    report.add_results_option(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    max_ratios = {name: limit for name, limit in options.max_ratio if name in options.engines}
    try:
        results = run(options)
    except DovetailError as error:
        print(error, file=sys.stderr)
        return 2
    page = report.Page("real_data", f"Real data: {options.query_file.stem}", options.query_file.stem)
    write_page(page, results, max_ratios)
    page.write(options, _data(results, max_ratios))
    failed = any(results.engines[name].failures for name in DOVETAIL_ENGINES if name in results.engines)
    missed = options.gate and not all(target["hit"] for target in targets(results, max_ratios))
    return 1 if failed or missed else 0


def _engines(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    if unknown := [name for name in names if name not in ENGINES]:
        raise argparse.ArgumentTypeError(f"no engine {', '.join(unknown)}; there are {', '.join(ENGINES)}")
    return names


def _max_ratio(text: str) -> tuple[str, float]:
    name, _, ratio = text.partition("=")
    try:
        return _engines(name)[0], float(ratio)
    except (IndexError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not ENGINE=RATIO, e.g. dovetail=1.15") from error


def _data(results: Results, max_ratios: Mapping[str, float]) -> dict[str, Any]:
    engines = {name: asdict(m) | {"ratios": results.ratios(name)} for name, m in results.engines.items()}
    return {"targets": targets(results, max_ratios), "best": results.best, "engines": engines}


if __name__ == "__main__":
    sys.exit(main())
