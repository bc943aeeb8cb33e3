"""Sentences of `figures` about the time that planning takes."""

from __future__ import annotations

from statistics import median
from typing import Any

from dovetail.config import Config
from dovetail_bench import figures_data as data
from dovetail_bench import history_cost
from dovetail_bench.report import wrapped
from dovetail_bench.session import DOVETAIL_BARE, SPARK

SECOND = 1000

# The results with the longest planning of a TPC-DS query. Its first query is the first one of a JVM.
LONGEST = "setting_gains-adaptive.reorder-tpcds-bare-sf10"

# The first query of a JVM may take so many times the limit of planning.
FIRST = 2


def added_time() -> str:
    """Time that Dovetail adds to planning: warm, with footers and rows to read, and at most."""
    warm = sorted((q[DOVETAIL_BARE.name] - q[SPARK.name], q["query"]) for q in _queries())
    cold = data.times("tpcds", 10)
    longest, query = max(
        (run["dovetail_ms"], compared["query"])
        for compared in data.load(LONGEST)["compared"]
        for runs in compared["runs"].values()
        for run in runs
    )
    limit = FIRST * Config().planning_max_ms
    return wrapped(
        f"With nothing analyzed, Dovetail adds {median(ms for ms, _ in warm):.0f} ms to the optimizer for the median "
        f"TPC-DS query in a warm JVM, and at most {warm[-1][0]:.0f} ms (scale 1). If it has to read footers and rows "
        f"first, it adds {cold.first_planning(DOVETAIL_BARE):.1f} s per query (scale 10, mean). The longest planning "
        f"of a TPC-DS query was that of {query}, the first query of a JVM: {longest / SECOND:.1f} s of the "
        f"{limit / SECOND:.0f} s allowed there."
    )


def history_lookup() -> str:
    """Time of the look-up in the history."""
    found = data.load("history_cost-tpcds-sf1")
    second, warm = (median(run[key] for run in found["runs"]) for key in ("lookup_ms", "warm_ms"))
    return wrapped(
        f"For TPC-DS queries, its median is {second:.1f} ms when a query is planned for the second time, and "
        f"{warm:.1f} ms in a warm JVM; the target is {history_cost.MAX_LOOKUP_MS:g} ms."
    )


def _queries() -> list[dict[str, Any]]:
    return list(data.load("optimizer_time-tpcds-sf1")["queries"])
