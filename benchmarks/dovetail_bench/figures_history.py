"""Tables of `figures` about history, false row counts, and join orders that change at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from dovetail_bench import constants
from dovetail_bench import figures_data as data
from dovetail_bench.accuracy import geometric_mean
from dovetail_bench.false_statistics import WAYS
from dovetail_bench.join_order import over_best
from dovetail_bench.report import markdown_table

MILLION = 1_000_000

MILLISECONDS = 1000

# Titles of the orders of an instance of `constants`.
ORDERS = {"best order": "best", "without history": "without", "with history": "learned"}

# Data sets of `constants`, and scales at which TPC-DS ran repeatedly.
CONSTANTS = ("f1", "lahman")
SCALES = (1, 10)

# Files of `setting_gains` about published statistics, with the suite and what is on.
PUBLISHED = {
    "tpcds-bare-sf1": "TPC-DS, Spark's CBO off",
    "tpch-bare-sf1": "TPC-H, Spark's CBO off",
    "tpcds-bare_cbo-sf1": "TPC-DS, Spark's CBO on",
}

# Measures of a round of TPC-DS.
WHAT = ("seconds", "of it Dovetail's planning", "join rows, millions")


def learning() -> str:
    """Rounds of real queries: mean of the join rows over those of the best order."""
    rows = []
    for name in data.REAL:
        found = data.load(f"learning-{name}")
        queries = found["queries"]
        couts = zip(*(q["couts"] for q in queries), strict=True)
        means = [geometric_mean([over_best(c, q["best"]) for c, q in zip(r, queries, strict=True)]) for r in couts]
        changed = sum(len(set(q["couts"])) > 1 for q in queries)
        rows.append((name, f"{len(queries)}", *(f"{mean:.2f}" for mean in means), f"{changed}", _made(found)))
    rounds = ("first round", "second round", "third round")
    return markdown_table(("data set", "queries", *rounds, "queries whose order changed", "measured"), rows)


def repeated_runs() -> str:
    """Rounds of TPC-DS with history and without, and whether an order changed."""
    suite = len(data.load("times-tpcds-sf10")["runs"])
    rows, changed = [], 0
    for scale in SCALES:
        found = data.load(f"repeated_runs-tpcds-sf{scale}")
        runs = found["runs"]
        changed += sum(len({tuple(r["orders"]) for r in _all(run)}) > 1 for run in runs)
        for number in range(found["options"]["rounds"]):
            values = [
                sum(run[kind][number][what] for run in runs) / unit
                for what, unit in (("seconds", 1), ("dovetail_ms", MILLISECONDS), ("join_rows", MILLION))
                for kind in ("plain", "learned")
            ]
            place = (f"{scale}", f"{len(runs)} of {suite}", f"{number + 1}")
            rows.append((*place, *(f"{value:.1f}" for value in values), _made(found)))
    kinds = ("without history", "with history")
    measures = (f"{what}, {kind}" for what in WHAT for kind in kinds)
    words = (
        f"The order of {changed} queries changed between runs."
        if changed
        else "No order changed in any round, with history or without. In these queries, history gained nothing beyond "
        "noise."
    )
    table = markdown_table(("scale", "queries", "round", *measures, "measured"), rows)
    return f"{table}\n{words}\n"


def _all(run: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [*run["plain"], *run["learned"]]


def changing_constants() -> str:
    """Queries with new constants: means with history and without, and what the worst instance does to them."""
    rows = []
    for name in CONSTANTS:
        found = data.load(f"constants-{name}")
        instances = found["instances"]
        later = instances[constants.LEARNED_AFTER :]
        worst = max(later, key=_learned)
        cells = (
            *(geometric_mean([over_best(q[kind], q["best"]) for q in instances]) for kind in ("without", "learned")),
            geometric_mean([_learned(q) for q in later]),
            geometric_mean([_learned(q) for q in later if q is not worst]),
        )
        words = ", ".join(f"{title} {worst[kind]:,.0f}" for title, kind in ORDERS.items())
        means = (f"{cell:.2f}" for cell in cells)
        rows.append((name, f"{len(instances)}", *means, f"{worst['instance']}: {words}", _made(found)))
    after = f"after {constants.LEARNED_AFTER}, with history"
    header = (
        "data set",
        "instances",
        "all, without history",
        "all, with history",
        f"{after} (target {constants.MAX_MEAN})",
        f"{after}, without the worst instance",
        "worst instance, join rows",
        "measured",
    )
    return markdown_table(header, rows)


def _learned(instance: Mapping[str, Any]) -> float:
    return float(over_best(instance["learned"], instance["best"]))


def false_statistics() -> str:
    """Seconds and join rows with true and false row counts, with planned orders and with orders at run time."""
    found = data.load("false_statistics-tpcds-sf1")
    runs = found["runs"]

    def total(way: str, what: str) -> float:
        return float(sum(median(run[what] for run in query["runs"][way]) for query in runs))

    true_seconds = total(WAYS[0].name, "seconds")
    rows = [
        (
            way.name,
            f"{total(way.name, 'seconds'):.1f}",
            f"{total(way.name, 'seconds') / true_seconds:.2f}",
            f"{total(way.name, 'join_rows') / MILLION:.1f}",
            f"{sum(any(run['run_time_orders'] for run in query['runs'][way.name]) for query in runs)}",
        )
        for way in WAYS
    ]
    header = (
        "row counts",
        "seconds",
        "of true counts",
        "join rows, millions",
        "queries with another order at run time",
    )
    words = f"{len(runs)} queries; row counts are wrong by a factor of {found['options']['factor']:,}. {_made(found)}."
    return f"{words}\n\n{markdown_table(header, rows)}"


def run_time_orders() -> str:
    """Join rows of the queries whose order changed at run time, with true row counts."""
    found = data.load("run_time_orders-bare-sf1")
    rows = [
        (c["query"], *(f"{c[kind]['join_rows'] / MILLION:.1f}" for kind in ("planned", "changed")), _made(found))
        for c in found["changed"]
    ]
    header = ("query", "join rows as planned, millions", "with the order at run time, millions", "measured")
    return markdown_table(header, rows)


def run_time_seconds() -> str:
    """Seconds of the queries whose order changes at run time, with the setting off and on."""
    found = data.load("setting_gains-adaptive.reorder-tpcds-bare-sf10")
    rows = [
        (
            c["query"],
            *(f"{data.middle(c, on, 'seconds'):.1f}" for on in data.ONS),
            *(f"{data.middle(c, on, 'join_rows') / MILLION:.1f}" for on in data.ONS),
            _made(found),
        )
        for c in found["compared"]
    ]
    header = ("query", *(f"{what}, {on}" for what in WHAT[::2] for on in ("off", "on")), "measured")
    return markdown_table(header, rows)


def published_statistics() -> str:
    """What it changes that Spark sees Dovetail's statistics: plans, seconds and join rows of a suite."""
    rows = []
    for name, words in PUBLISHED.items():
        found = data.load(f"setting_gains-stats.publish-{name}")
        compared = [c for c in found["compared"] if all(c["runs"].values())]
        cells = (
            f"{sum(data.middle(c, on, what) for c in compared) / unit:,.1f}"
            for what, unit in (("seconds", 1), ("join_rows", MILLION))
            for on in data.ONS
        )
        rows.append((words, f"{found['planned']}", f"{len(compared)}", *cells, _made(found)))
    measures = (f"{what} of these, {on}" for what in WHAT[::2] for on in ("off", "on"))
    return markdown_table(("suite", "queries", "with another plan", *measures, "measured"), rows)


def _made(found: Mapping[str, Any]) -> str:
    return f"{found['date']}, commit {found['environment']['commit']}"
