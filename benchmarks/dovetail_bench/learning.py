"""Whether the history improves join orders of real queries in several runs, with nothing analyzed at the beginning.

    python -m dovetail_bench.learning --tables DIR --queries FILE --rounds 3

The history is empty at first. Each round plans every query, compares its order with the best one by the true sizes of
the query file (`query_file`), and then runs the query to its end, so that the next round knows its rows. Exit code 1 if
a query fails, with --gate also if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dovetail import _sql
from dovetail.errors import DovetailError
from dovetail_bench import report
from dovetail_bench.accuracy import geometric_mean
from dovetail_bench.join_order import cout, over_best
from dovetail_bench.progress import say
from dovetail_bench.query_file import RealQuery, add_options, read_complete
from dovetail_bench.real_engines import SparkEngine, bare
from dovetail_bench.session import HISTORY, add_session_options, bench
from dovetail_bench.tables import find, views
from dovetail_bench.true_sizes import TrueSizes

# Largest geometric mean of C_out over the best that the last round may have.
MAX_LAST = 1.02

# How many times its first C_out a query may have in any later round.
MAX_WORSE = 1.1


@dataclass(frozen=True)
class LearningResult:
    """A query with its orders in all rounds.

    Attributes:
        name: Name of the query.
        best: C_out of its best order.
        couts: C_out of the order of each round.
        seconds: Run time in each round.
    """

    name: str
    best: float
    couts: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """C_out over the best, round by round; 0 rows count as 1."""
        return [over_best(c, self.best) for c in self.couts]

    @property
    def worse(self) -> float:
        """C_out of the worst round over that of the first one."""
        return max(self.ratios) / self.ratios[0]


def run(options: argparse.Namespace) -> list[LearningResult]:
    """Plans and runs all queries in all rounds."""
    tables = find(options.tables)
    queries = read_complete(options.query_file, tables)
    couts: dict[str, list[float]] = {q.name: [] for q in queries}
    seconds: dict[str, list[float]] = {q.name: [] for q in queries}
    with views(tables) as connection, tempfile.TemporaryDirectory(prefix="dovetail-learning-") as work:
        truth = TrueSizes(connection)
        with bench(options) as session, bare(session, tables, Path(work)) as engine:
            session.spark.conf.set(HISTORY, "true")
            for number in range(options.rounds):
                for query in queries:
                    couts[query.name].append(cout(engine.order(query), partial(truth.of_order, query)))
                    seconds[query.name].append(run_and_record(engine, query))
                ratios = [over_best(c[-1], q.best) for q, c in zip(queries, couts.values(), strict=True)]
                say(f"round {number + 1}: C_out over the best {geometric_mean(ratios):.3f}")
    return [LearningResult(q.name, q.best, tuple(couts[q.name]), tuple(seconds[q.name])) for q in queries]


def run_and_record(engine: SparkEngine, query: RealQuery) -> float:
    """Runs a query to its end, and waits until the history contains it. Returns the seconds of the run."""
    started = time.monotonic()
    engine.spark.sql(query.sql).write.format("noop").mode("overwrite").save()
    seconds = time.monotonic() - started
    _sql.function_rows(engine.spark, "dovetail_history")
    return seconds


def targets(learned: Sequence[LearningResult]) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    last = geometric_mean([q.ratios[-1] for q in learned])
    worse = [q for q in learned if q.worse > MAX_WORSE]
    return [
        report.target(f"C_out over the best, last round, geometric mean at most {MAX_LAST}", last, last <= MAX_LAST),
        report.target(f"queries worse than {MAX_WORSE} times their first round: none", len(worse), not worse),
    ]


def write_page(page: report.Page, learned: Sequence[LearningResult]) -> None:
    """Fills the page."""
    rounds = range(len(learned[0].couts))
    page.text(
        "C_out: true rows out of all joins of the order that Dovetail picks; the ratio is to the best of all orders "
        "without cross products. Nothing is analyzed, the history is empty before the first round, and each round runs "
        "every query once, after its order was recorded."
    )
    page.targets(targets(learned))
    page.table(
        "Rounds",
        [
            {
                "round": r + 1,
                "C_out over the best": geometric_mean([q.ratios[r] for q in learned]),
                "worst query": max(q.ratios[r] for q in learned),
                "orders that changed": sum(q.couts[r] != q.couts[r - 1] for q in learned) if r else 0,
                "seconds": sum(q.seconds[r] for q in learned),
            }
            for r in rounds
        ],
    )
    page.table(
        "Queries whose order changed",
        [
            {"query": q.name, **{f"round {r + 1}": q.ratios[r] for r in rounds}}
            for q in learned
            if len(set(q.couts)) > 1
        ],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.learning", description=head)
    add_options(parser)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each query (3)")
    parser.add_argument("--gate", action="store_true", help="exit code 1 if a target is missed")
    report.add_results_option(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    try:
        learned = run(options)
    except DovetailError as error:
        print(error, file=sys.stderr)
        return 2
    page = report.Page("learning", f"Learning: {options.query_file.stem}", options.query_file.stem)
    write_page(page, learned)
    found = targets(learned)
    queries = [{"query": q.name, "best": q.best, "couts": q.couts, "seconds": q.seconds} for q in learned]
    page.write(options, {"targets": found, "queries": queries})
    return 1 if options.gate and not all(target["hit"] for target in found) else 0


if __name__ == "__main__":
    sys.exit(main())
