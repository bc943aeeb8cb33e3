"""What a bad join order costs: times of random legal orders of a query, with Bloom filters and without.

    python -m dovetail_bench.order_robustness --orders 20

The largest join group of every query runs in random bushy orders without cross products (`random_orders`), each with
both values of `spark.dovetail.reducers.enabled`, which take turns in going first. Filters that drop rows without a
partner before the joins should bring all orders closer together (predicate transfer: Zhao et al., SIGMOD 2025, which
has this experiment). The order that Dovetail chooses runs first. A run that takes `LIMIT` times as long is ended.
Exit code 1 if an answer differs or a query fails.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

import dovetail
from dovetail.comparison import differences
from dovetail.demo.data import Dataset
from dovetail_bench import random_orders, report
from dovetail_bench.join_rows import add_options
from dovetail_bench.metrics import Profile, profile, reason
from dovetail_bench.progress import say
from dovetail_bench.queries import Query
from dovetail_bench.random_tables import seeded
from dovetail_bench.rounds import latin_square, read_files
from dovetail_bench.session import STATISTICS, Bench, add_statistics_option, suite_bench
from dovetail_bench.setting_gains import OFF, ON, VALUES

ORDER = "spark.dovetail.reorder.order"
FILTERS = "spark.dovetail.reducers.enabled"

# TPC-DS queries with a group of five or more relations: all kinds of inputs, one to three fact tables.
QUERIES = ("q7", "q13", "q17", "q18", "q19", "q25", "q29", "q72", "q85", "q91")

# A run ends at this multiple of the time of the chosen order, because some random orders would take hours, …
LIMIT = 10.0

# … but not before this number of seconds, because the first run of a short query is mostly planning.
LEAST_LIMIT = 20.0

# Seconds between two attempts to cancel a run: it may be planning, or between two jobs.
CANCEL = 0.5


@dataclass
class OrderTrial:
    """One order of a query.

    Attributes:
        order: The order in explain's notation; empty for the one that Dovetail chose.
        runs: Value of the filters' setting → the run; None if it was ended at the limit.
    """

    order: str
    runs: dict[str, Profile | None] = field(default_factory=dict)


@dataclass
class Spread:
    """All orders of one query.

    Attributes:
        query: Name of the query.
        relations: Relations of its largest group.
        limit: Seconds after which a run was ended.
        tried: The chosen order, then the random ones.
        failure: The error that ended the query; empty if there was none.
    """

    query: str
    relations: int
    limit: float = 0.0
    tried: list[OrderTrial] = field(default_factory=list)
    failure: str = ""

    def seconds(self, value: str) -> list[float]:
        """Seconds of the random orders, in ascending order; a run that was ended counts as the limit."""
        runs = [tried.runs[value] for tried in self.tried[1:] if value in tried.runs]
        return sorted(self.limit if run is None else run.seconds for run in runs)

    def ended(self, value: str) -> int:
        """Number of random orders that were ended."""
        return sum(tried.runs.get(value, False) is None for tried in self.tried[1:])

    @property
    def differing(self) -> list[str]:
        """Orders with another answer than the chosen one."""
        runs = [(tried.order, run) for tried in self.tried for run in tried.runs.values() if run is not None]
        return [order for order, run in runs if differences(runs[0][1].digest, run.digest)]


def run(options: argparse.Namespace) -> list[Spread]:
    """Runs all queries. Ctrl-C stops it; what was measured is reported."""
    found: list[Spread] = []
    with suite_bench(options, STATISTICS[options.statistics]) as (session, data, queries):
        for query in queries:
            spread = Spread(query.name, 0)
            found.append(spread)
            try:
                _measure(session, data, query, spread, options)
            except KeyboardInterrupt:
                say("stopped; what was measured is reported")
                break
            except Exception as failed:  # an error of Spark is a finding about this query and does not end the run
                spread.failure = reason(failed)
    return found


def _measure(session: Bench, data: Dataset, query: Query, spread: Spread, options: argparse.Namespace) -> None:
    group = _largest(_groups(session, query, order=""))
    spread.relations = len(group["relations"])
    read_files(data, query)
    for value in VALUES:  # compiles the query's code
        _profile(session, query, "", value)
    chosen = OrderTrial("", {value: _profile(session, query, "", value) for value in VALUES})
    spread.tried.append(chosen)
    spread.limit = max(LEAST_LIMIT, LIMIT * max(one.seconds for one in chosen.runs.values() if one is not None))
    names = [relation["name"] for relation in group["relations"]]
    edges = [edge for found in group["edges"] for edge in random_orders.edges(found["relations"], found["condition"])]
    orders = random_orders.orders(names, edges, seeded(f"{options.seed} {query.name}"))
    legal = (order for order in orders if _is_used(session, query, order))
    for place, order in zip(range(options.orders), legal, strict=False):
        tried = OrderTrial(order)
        for value in next(latin_square(VALUES, place)):
            with _limit(session.spark, spread.limit) as over:
                try:
                    tried.runs[value] = _profile(session, query, order, value)
                except Exception:
                    if not over.is_set():
                        raise
                    tried.runs[value] = None
        spread.tried.append(tried)
    say(f"{query.name}: {len(spread.tried) - 1} orders; {', '.join(f'{v} {_range(spread, v)}' for v in VALUES)}")


def _groups(session: Bench, query: Query, order: str) -> list[dict[str, Any]]:
    session.spark.conf.set(ORDER, order)
    return list(dovetail.explain(query.text, session.spark).to_dict()["groups"])


def _largest(groups: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return max(groups, key=lambda group: len(group["relations"]))


def _is_used(session: Bench, query: Query, order: str) -> bool:
    """Whether the order is legal: one that an outer or semi join forbids is not used."""
    return any(group["reason"].startswith("the requested order") for group in _groups(session, query, order))


def _profile(session: Bench, query: Query, order: str, value: str) -> Profile:
    session.spark.conf.set(ORDER, order)
    session.spark.conf.set(FILTERS, value)
    return profile(session.spark, query.text)


@contextmanager
def _limit(spark: SparkSession, seconds: float) -> Iterator[threading.Event]:
    """Cancels all jobs after this time, until the work ends. The event tells whether it was cancelled."""
    done, over = threading.Event(), threading.Event()

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            over.set()
            spark.sparkContext.cancelAllJobs()
            wait = CANCEL

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield over
    finally:
        done.set()
        watcher.join()


def targets(found: Sequence[Spread]) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    lists = {
        "answers that differ: none": [s.query for s in found if s.differing],
        "queries that fail: none": [s.query for s in found if s.failure],
    }
    return [report.target(name, ", ".join(names) or "none", not names) for name, names in lists.items()]


def write_page(page: report.Page, found: Sequence[Spread]) -> None:
    """Fills the page."""
    lines = table(found)
    page.text(
        f"Random legal join orders of {len(lines)} queries, each without Bloom filters and with them. A run that "
        f"took {LIMIT:g} times as long as the order that Dovetail chooses, and at least {LEAST_LIMIT:g} s, was ended, "
        "and counts as that time."
    )
    page.targets(targets(found))
    page.table("Seconds of random orders", lines)
    page.table("Failures", [{"query": s.query, "error": s.failure} for s in found if s.failure])


def table(found: Sequence[Spread]) -> list[Mapping[str, Any]]:
    """One line for each query whose orders ran with filters and without."""
    return [_line(spread) for spread in found if spread.seconds(OFF) and spread.seconds(ON)]


def _line(spread: Spread) -> Mapping[str, Any]:
    line: dict[str, Any] = {"query": spread.query, "relations": spread.relations, "orders": len(spread.seconds(OFF))}
    chosen = spread.tried[0].runs[ON]
    line["chosen order s"] = chosen.seconds if chosen else None
    for value, name in ((OFF, "without"), (ON, "with")):
        seconds = spread.seconds(value)
        line |= {
            f"{name}: best s": seconds[0],
            f"{name}: median s": median(seconds),
            f"{name}: worst s": seconds[-1],
            f"{name}: worst / best": seconds[-1] / seconds[0],
            f"{name}: ended": spread.ended(value),
        }
    return line


def _range(spread: Spread, value: str) -> str:
    seconds = spread.seconds(value)
    return f"{seconds[0]:.1f} to {seconds[-1]:.1f} s, {spread.ended(value)} ended" if seconds else "none"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.order_robustness", description=head)
    add_options(parser)
    parser.set_defaults(queries=list(QUERIES))
    add_statistics_option(parser)
    parser.add_argument("--orders", type=int, default=100, metavar="N", help="random orders of each query (100)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the orders (1)")
    options = report.parse(parser, arguments)
    found = run(options)
    title = f"Random join orders, {options.suite}, scale {options.scale:g}"
    page = report.Page("order_robustness", title, f"{options.suite}-{options.statistics}")
    write_page(page, found)
    spreads = [asdict(spread) for spread in found]
    page.write(options, {"targets": targets(found), "table": table(found), "spreads": spreads})
    return 1 if any(s.failure or s.differing for s in found) else 0


if __name__ == "__main__":
    sys.exit(main())
