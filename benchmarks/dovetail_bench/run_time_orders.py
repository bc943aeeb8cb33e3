"""Join orders that change while a query runs: how many, and the rows out of joins with and without the change.

    python -m dovetail_bench.run_time_orders --statistics bare

Every query runs with `spark.dovetail.adaptive.reorder`. A query that gets another order at run time runs again in its
planned order, and both answers must be equal. Exit code 1 if they differ or if a query fails, with --gate also if a
query has many more rows out of joins than in its planned order.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.comparison import differences
from dovetail_bench import report
from dovetail_bench.join_rows import add_options
from dovetail_bench.metrics import Profile, profile, reason
from dovetail_bench.progress import say
from dovetail_bench.session import STATISTICS, Bench, add_statistics_option, suite_bench

SETTING = "spark.dovetail.adaptive.reorder"

# A new order is a regression if its rows out of joins exceed this ratio to the planned order's, and this number.
MAX_WORSE = 1.1
MIN_ROWS = 100_000


@dataclass(frozen=True)
class OrderChange:
    """A query that got another order while it ran.

    Attributes:
        query: Name of the query.
        planned: Run with the planned order.
        changed: Run with the new order.
    """

    query: str
    planned: Profile
    changed: Profile

    @property
    def differs(self) -> bool:
        """Whether the answers differ."""
        return bool(differences(self.planned.digest, self.changed.digest))

    @property
    def ratio(self) -> float:
        """Rows out of joins over those of the planned order."""
        return max(self.changed.join_rows, 1) / max(self.planned.join_rows, 1)


@dataclass(frozen=True)
class Found:
    """Results of all queries.

    Attributes:
        queries: Number of queries that ran.
        changed: Queries that got another order.
        failures: Query → error.
    """

    queries: int
    changed: list[OrderChange]
    failures: dict[str, str]


def run(options: argparse.Namespace) -> Found:
    """Runs all queries. Ctrl-C stops it; it then returns what was measured so far."""
    mode = STATISTICS[options.statistics]
    found = Found(0, [], {})
    with suite_bench(options, mode) as (session, _, queries):
        try:
            for number, query in enumerate(queries, 1):
                try:
                    now = _profile(session, query.text, "true")
                    line = f"{now.join_rows:,} rows"
                    if now.run_time_orders:
                        planned = _profile(session, query.text, "false")
                        found.changed.append(OrderChange(query.name, planned, now))
                        line += f", {planned.join_rows:,} as planned: {', '.join(now.run_time_orders)}"
                except Exception as failed:  # an error of Spark is a finding about this query and ends no run
                    found.failures[query.name] = line = reason(failed)
                found = Found(number, found.changed, found.failures)
                say(f"{number}/{len(queries)} {query.name}: {line}")
        except KeyboardInterrupt:
            say(f"stopped after {found.queries} queries; what was measured is reported")
    return found


def _profile(session: Bench, text: str, on: str) -> Profile:
    session.spark.conf.set(SETTING, on)
    return profile(session.spark, text)


def targets(found: Found) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    wrong = [c.query for c in found.changed if c.differs]
    worse = [c.query for c in found.changed if c.ratio > MAX_WORSE and c.changed.join_rows > MIN_ROWS]
    return [
        report.target("answers that differ: none", ", ".join(wrong) or "none", not wrong),
        report.target("queries that fail: none", ", ".join(found.failures) or "none", not found.failures),
        report.target(
            f"queries with over {MIN_ROWS:,} join rows above {MAX_WORSE}x of the planned order: none",
            ", ".join(worse) or "none",
            not worse,
        ),
    ]


def write_page(page: report.Page, found: Found, statistics: str) -> None:
    """Fills the page."""
    planned, changed = (
        sum(c.planned.join_rows for c in found.changed),
        sum(c.changed.join_rows for c in found.changed),
    )
    page.text(
        f"{len(found.changed)} of {found.queries} queries got another join order while they ran; tables: {statistics}. "
        f"Rows out of the joins of these queries: {changed:,}, as planned {planned:,}."
    )
    page.targets(targets(found))
    page.table(
        "Queries with a new order",
        [
            {
                "query": c.query,
                "join rows as planned": c.planned.join_rows,
                "join rows": c.changed.join_rows,
                "ratio": c.ratio,
                "new orders": "; ".join(c.changed.run_time_orders),
            }
            for c in found.changed
        ],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.run_time_orders", description=head)
    add_options(parser)
    add_statistics_option(parser)
    options = report.parse(parser, arguments)
    found = run(options)
    page = report.Page(
        "run_time_orders", f"Join orders at run time, {options.suite}, scale {options.scale:g}", options.statistics
    )
    write_page(page, found, options.statistics)
    goals = targets(found)
    page.write(options, {"targets": goals, "failures": found.failures, "changed": [asdict(c) for c in found.changed]})
    wrong = bool(found.failures) or any(c.differs for c in found.changed)
    return 1 if wrong or (options.gate and not all(target["hit"] for target in goals)) else 0


if __name__ == "__main__":
    sys.exit(main())
