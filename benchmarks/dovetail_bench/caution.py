"""The cost of leaving expressions that may fail where they were written: rows out of joins with and without caution.

    python -m dovetail_bench.caution --scale 1
    python -m dovetail_bench.caution --suite --tables DIR --queries FILE

Each query is planned twice, with `spark.dovetail.expressions.moveAll` off and on, on bare tables and after one pass of
`dovetail.analyze`. If the two plans differ, both run; otherwise one of them runs. A query that fails only with the
setting on is one that the caution protects; it costs nothing. Exit code 1 if a query fails with the setting off, with
--gate also if the caution costs too many rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dovetail.demo.data import Dataset, dataset
from dovetail_bench import query_file, report
from dovetail_bench.executed_plan import normalized
from dovetail_bench.metrics import profile, reason
from dovetail_bench.progress import say
from dovetail_bench.queries import FOLDERS, Query, load
from dovetail_bench.session import DOVETAIL_BARE, DOVETAIL_ONE_PASS, Bench, Mode, add_session_options, bench
from dovetail_bench.tables import find

SETTING = "spark.dovetail.expressions.moveAll"
MODES = (DOVETAIL_BARE, DOVETAIL_ONE_PASS)

# Largest accepted share of join rows that the caution adds to a suite.
MAX_LOSS = 0.02


@dataclass(frozen=True)
class Folder(Dataset):
    """Tables in a folder that the user names.

    Attributes:
        paths: Table name → its file or folder.
    """

    paths: Mapping[str, Path]

    def location(self, table: str) -> Path:
        """File or folder of a table."""
        return self.paths[table]


@dataclass(frozen=True)
class Cost:
    """Cost of the caution for one query in one mode.

    Attributes:
        suite: Suite of the query.
        query: Name of the query.
        mode: Name of the mode.
        changed: Whether the plans differ.
        careful: Rows out of joins with the caution.
        reckless: Rows out of joins with all expressions moved; equal to `careful` if the plans are equal or it failed.
        error: First line of the error with all expressions moved; empty if there is none.
    """

    suite: str
    query: str
    mode: str
    changed: bool
    careful: int
    reckless: int
    error: str = ""


def run(options: argparse.Namespace) -> list[Cost]:
    """Measures all queries in all modes. Ctrl-C stops it; it then returns what was measured so far."""
    costs: list[Cost] = []
    with ExitStack() as stack:
        session = stack.enter_context(bench(options))
        try:
            for data, queries in _suites(options):
                session.register(data, analyze=False)
                session.collect(data)
                for mode in MODES:
                    session.use(mode, data)
                    for number, query in enumerate(queries, 1):
                        costs.append(_cost(session, query, mode))
                        say(f"{query.suite} {mode.name} {number}/{len(queries)} {costs[-1]}")
        except KeyboardInterrupt:
            say(f"stopped after {len(costs)} queries; what was measured is reported")
    return costs


def _suites(options: argparse.Namespace) -> Iterator[tuple[Dataset, list[Query]]]:
    for suite in options.suite:
        yield dataset(FOLDERS[suite][1], options.scale, options.data_dir), load(suite, options.queries)
    for tables, queries in zip(options.tables, options.query_file, strict=True):
        paths = find(tables)
        name = tables.absolute().name
        real = [Query(name, query.name, query.sql) for query in query_file.read(queries, paths)]
        yield Folder(name, 1, tables, dict.fromkeys(paths, 0), paths), real


def _cost(session: Bench, query: Query, mode: Mode) -> Cost:
    session.spark.conf.set(SETTING, "false")
    careful, rows = _plan(session, query), profile(session.spark, query.text).join_rows
    session.spark.conf.set(SETTING, "true")
    changed = _plan(session, query) != careful
    try:
        other = profile(session.spark, query.text).join_rows if changed else rows
    except Exception as failed:  # an error of Spark that the caution prevents
        return Cost(query.suite, query.name, mode.name, changed, rows, rows, reason(failed))
    return Cost(query.suite, query.name, mode.name, changed, rows, other)


def _plan(session: Bench, query: Query) -> str:
    """The optimized plan, with its ids renumbered in the order in which they appear."""
    return normalized(session.spark.sql(query.text)._jdf.queryExecution().optimizedPlan().toString())


def summary(costs: Sequence[Cost]) -> list[dict[str, Any]]:
    """Sums up the queries of each suite and mode."""
    lines = []
    for suite, mode in dict.fromkeys((c.suite, c.mode) for c in costs):
        of_it = [c for c in costs if (c.suite, c.mode) == (suite, mode)]
        careful, reckless = sum(c.careful for c in of_it), sum(c.reckless for c in of_it)
        lines.append(
            {
                "suite": suite,
                "mode": mode,
                "queries": len(of_it),
                "another plan": sum(c.changed for c in of_it),
                "failed with all expressions moved": sum(bool(c.error) for c in of_it),
                "join rows": careful,
                "join rows, all moved": reckless,
                "loss": careful / max(reckless, 1) - 1,
            }
        )
    return lines


def targets(costs: Sequence[Cost]) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    return [
        report.target(
            f"{line['suite']}, {line['mode']}: at most {MAX_LOSS:.0%} more join rows",
            f"{line['loss']:.2%}",
            line["loss"] <= MAX_LOSS,
        )
        for line in summary(costs)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.caution", description=lines[0])
    parser.add_argument("--suite", nargs="*", choices=FOLDERS, default=["tpcds", "tpch"], help="query suites (both)")
    parser.add_argument("--names", nargs="+", default=[], dest="queries", help="only these queries, of one suite")
    parser.add_argument("--tables", nargs="*", type=Path, default=[], metavar="DIR", help="folders of Parquet tables")
    parser.add_argument(
        "--queries", nargs="*", type=Path, default=[], metavar="FILE", dest="query_file", help="a query file for each"
    )
    parser.add_argument("--gate", action="store_true", help="exit code 1 if a target is missed")
    report.add_options(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    if len(options.tables) != len(options.query_file):
        parser.error("--tables and --queries: as many folders as query files")
    costs = run(options)
    goals = targets(costs)
    page = report.Page("caution", f"What caution costs, scale {options.scale:g}")
    page.text(
        "Rows out of joins with expressions that may fail left where they were written, and with all of them moved "
        "(`spark.dovetail.expressions.moveAll`). Where the optimized plans are the same, the query ran once."
    )
    page.targets(goals)
    page.table("Suites", summary(costs))
    page.table("Queries with another plan", [asdict(c) for c in costs if c.changed])
    page.write(options, {"targets": goals, "costs": [asdict(c) for c in costs]})
    return 1 if options.gate and not all(goal["hit"] for goal in goals) else 0


if __name__ == "__main__":
    sys.exit(main())
