"""Do the costs of the model predict time? Rank correlation of a query's estimated cost with the time that it takes.

    python -m dovetail_bench.cost_correlation --scale 10

Every query is explained and then runs, with Dovetail. The cost of a query is the sum of the costs of its join groups.
Scans, aggregates, windows and sorts of the answer have no cost in the model, so the correlation with the time of all
tasks cannot be perfect. Rows out of joins (C_out, as counted) are the yardstick: a cost model is worth its effort if it
predicts time better than they do. The correlation is Spearman's, which compares ranks ("The proof and measurement of
association between two things", American Journal of Psychology 15, 1904).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import correlation, median
from typing import Any

import dovetail
from dovetail_bench import report
from dovetail_bench.join_rows import add_options
from dovetail_bench.metrics import profile, reason
from dovetail_bench.progress import say
from dovetail_bench.session import STATISTICS, Bench, add_statistics_option, suite_bench

# Smallest correlation of cost and time that the project aims at.
LEAST = 0.9

# The cost model's unit is about a nanosecond of one core.
UNITS_PER_SECOND = 1e9


@dataclass(frozen=True)
class Measurement:
    """A query.

    Attributes:
        query: Name of the query.
        cost: Estimated cost of its joins, in core-seconds.
        join_rows: Rows out of its joins, as counted.
        seconds: Median time of its runs, planning included.
    """

    query: str
    cost: float
    join_rows: int
    seconds: float


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1 on. Equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            found[place] = (start + 1 + end) / 2
        start = end
    return found


def spearman(left: Sequence[float], right: Sequence[float]) -> float:
    """Spearman's rank correlation, from -1 to 1."""
    return correlation(ranks(left), ranks(right))


def run(options: argparse.Namespace) -> tuple[list[Measurement], dict[str, str]]:
    """All queries with join groups, and the errors of queries that fail. Ctrl-C stops it."""
    found: list[Measurement] = []
    failures: dict[str, str] = {}
    with suite_bench(options, STATISTICS[options.statistics]) as (session, _, queries):
        try:
            for query in queries:
                try:
                    cost = _cost(session, query.text)
                    runs = [profile(session.spark, query.text) for _ in range(options.rounds)] if cost else []
                except Exception as failed:  # an error of Spark is a finding about this query and ends no run
                    failures[query.name] = reason(failed)
                    continue
                if runs:
                    seconds = median(run.seconds for run in runs)
                    found.append(Measurement(query.name, cost / UNITS_PER_SECOND, runs[-1].join_rows, seconds))
                    say(f"{query.name}: cost {found[-1].cost:.2f} core-seconds, {seconds:.1f} s")
        except KeyboardInterrupt:
            say("stopped; what was measured is reported")
    return found, failures


def _cost(session: Bench, text: str) -> float:
    groups = dovetail.explain(text, session.spark).to_dict()["groups"]
    plans = [group.get("after") or group.get("before") for group in groups]
    return sum(float(plan["cost"]) for plan in plans if plan)


def correlations(found: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Rank correlations with time, of all queries and of those that take at least the median time."""
    middle = median(m.seconds for m in found)
    parts: dict[str, Callable[[Measurement], bool]] = {
        "all queries": lambda _: True,
        f"at least {middle:.1f} s": lambda m: m.seconds >= middle,
    }
    lines = []
    for name, chosen in parts.items():
        of = [m for m in found if chosen(m)]
        seconds = [m.seconds for m in of]
        lines.append(
            {
                "queries": f"{name} ({len(of)})",
                "estimated cost": spearman([m.cost for m in of], seconds),
                "rows out of joins, counted": spearman([m.join_rows for m in of], seconds),
            }
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.cost_correlation", description=head)
    add_options(parser)
    add_statistics_option(parser)
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="runs of each query (2)")
    options = report.parse(parser, arguments)
    found, failures = run(options)
    lines = correlations(found)
    value = float(lines[0]["estimated cost"])
    goals = [report.target(f"rank correlation of estimated cost and time at least {LEAST}", value, value >= LEAST)]
    title = f"Estimated cost and time, {options.suite}, scale {options.scale:g}"
    page = report.Page("cost_correlation", title, f"{options.suite}-{options.statistics}")
    page.text("Rank correlations with the time of a query, 1 if the order is the same.")
    page.table("Correlations", lines)
    page.targets(goals)
    page.table("Queries", [asdict(m) for m in sorted(found, key=lambda m: m.seconds)])
    page.write(
        options, {"targets": goals, "correlations": lines, "failures": failures, "queries": [asdict(m) for m in found]}
    )
    return 1 if failures or (options.gate and not all(target["hit"] for target in goals)) else 0


if __name__ == "__main__":
    sys.exit(main())
