"""What one setting gains: queries with the setting on and off, in pairs.

    python -m dovetail_bench.setting_gains --setting spark.dovetail.reducers.enabled --scale 10

Every query is planned with both values, and only queries with two different plans run: `--rounds` times with each
value, which take turns in going first. `--all` runs all queries, for settings that act while a query runs. Exit code 1
if an answer differs or a query fails, with --gate also if a query is slower with the setting.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from dovetail.comparison import differences
from dovetail.demo.data import Dataset
from dovetail_bench import executed_plan, report
from dovetail_bench.join_rows import add_options
from dovetail_bench.metrics import Profile, profile, reason
from dovetail_bench.progress import say
from dovetail_bench.queries import Query
from dovetail_bench.rounds import latin_square, read_files
from dovetail_bench.session import STATISTICS, Bench, add_statistics_option, suite_bench
from dovetail_bench.times_report import SLOWER, SLOWER_SECONDS

# Values of the setting. The first is the one that the other is compared with.
OFF, ON = VALUES = ("false", "true")


@dataclass
class SettingComparison:
    """A query that ran with both values.

    Attributes:
        query: Name of the query.
        runs: Value of the setting → its runs.
        failures: Value of the setting → error. A value that failed is not tried again.
    """

    query: str
    runs: dict[str, list[Profile]] = field(default_factory=lambda: {value: [] for value in VALUES})
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the query ran with both values."""
        return all(self.runs.values()) and not self.failures

    @property
    def differs(self) -> list[str]:
        """How an answer with the setting differs from one without it."""
        found = [differences(self.runs[OFF][0].digest, run.digest) for run in self.runs[ON]] if self.complete else []
        return sorted({"; ".join(map(str, several)) for several in found if several})

    @property
    def slower(self) -> bool:
        """Whether the query is slower with the setting."""
        off, on = (self.middle(value, "seconds") for value in VALUES)
        return on > SLOWER * off and on > off + SLOWER_SECONDS

    def middle(self, value: str, counter: str) -> float:
        """Median of a counter over the runs with a value."""
        return float(median(getattr(run, counter) for run in self.runs[value]))


def run(options: argparse.Namespace) -> tuple[list[SettingComparison], int]:
    """All queries that ran, and the number that were planned. Ctrl-C stops it; what was measured is reported."""
    found: list[SettingComparison] = []
    with suite_bench(options, STATISTICS[options.statistics]) as (session, data, queries):
        executed_plan.watch(session.spark)
        chosen = [q for q in queries if options.all or len({_plan(session, options, q, v) for v in VALUES}) > 1]
        say(f"{len(chosen)} of {len(queries)} queries run: {', '.join(query.name for query in chosen)}")
        found += [SettingComparison(query.name) for query in chosen]
        try:
            for turn in range(options.rounds):
                for place, (query, compared) in enumerate(zip(chosen, found, strict=True)):
                    _round(session, options, data, query, compared, next(latin_square(VALUES, turn + place)))
        except KeyboardInterrupt:
            say("stopped; what was measured is reported")
        return found, len(queries)


def _use(session: Bench, options: argparse.Namespace, value: str) -> None:
    session.spark.conf.set(options.setting, value)
    session.spark.sql("DOVETAIL CLEAR CACHES")


def _plan(session: Bench, options: argparse.Namespace, query: Query, value: str) -> str:
    """The plan of a query. The first planning of a query is slow and may exceed its budget, so the second counts."""
    _use(session, options, value)
    text = ""
    for _ in range(2):
        text = session.spark.sql(f"EXPLAIN {query.text}").collect()[0][0]
    return executed_plan.normalized(text)


def _round(
    session: Bench,
    options: argparse.Namespace,
    data: Dataset,
    query: Query,
    compared: SettingComparison,
    values: Sequence[str],
) -> None:
    read_files(data, query)
    for value in values:
        if value not in compared.failures:
            _use(session, options, value)
            try:
                compared.runs[value].append(profile(session.spark, query.text))
            except Exception as failed:  # an error of Spark is a finding about this query and does not end the run
                compared.failures[value] = reason(failed)
    last = {value: runs[-1].seconds for value, runs in compared.runs.items() if runs}
    say(f"{query.name}: {', '.join(f'{value} {seconds:.1f} s' for value, seconds in last.items())}")


def targets(found: Sequence[SettingComparison]) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    complete = [c for c in found if c.complete]
    lists = {
        "answers that differ: none": [c.query for c in complete if c.differs],
        "queries that fail: none": [c.query for c in found if c.failures],
        f"queries over {SLOWER - 1:.0%} and {SLOWER_SECONDS} s slower with the setting: none": [
            c.query for c in complete if c.slower
        ],
    }
    return [report.target(name, ", ".join(names) or "none", not names) for name, names in lists.items()]


def write_page(page: report.Page, setting: str, found: Sequence[SettingComparison], planned: int) -> None:
    """Fills the page."""
    complete = [c for c in found if c.complete]
    totals = {value: sum(c.middle(value, "seconds") for c in complete) for value in VALUES}
    page.text(
        f"`{setting}`: {len(found)} of {planned} queries ran with both values; they take {totals[OFF]:.1f} s with "
        f"`false` and {totals[ON]:.1f} s with `true`. Seconds and counts are medians; the values take turns in going "
        "first."
    )
    page.targets(targets(found))
    page.table("Queries", [_line(c) for c in sorted(complete, key=_gain)])
    page.table("Answers that differ", [{"query": c.query, "differs": "; ".join(c.differs)} for c in found if c.differs])
    page.table("Failures", [{"query": c.query, "value": v, "error": e} for c in found for v, e in c.failures.items()])


def _gain(compared: SettingComparison) -> float:
    return compared.middle(ON, "seconds") / compared.middle(OFF, "seconds")


def _line(compared: SettingComparison) -> Mapping[str, Any]:
    line: dict[str, Any] = {"query": compared.query}
    for name, counter, unit in (("s", "seconds", 1), ("shuffled GiB", "shuffle_bytes", report.GIB)):
        line |= {f"{value} {name}": compared.middle(value, counter) / unit for value in VALUES}
    line |= {f"{value} join rows": int(compared.middle(value, "join_rows")) for value in VALUES}
    for value in VALUES:
        seconds = [run.seconds for run in compared.runs[value]]
        line[f"{value} range s"] = f"{min(seconds):.2f} to {max(seconds):.2f}"
    return line | {"time, true / false": _gain(compared)}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.setting_gains", description=head)
    add_options(parser)
    parser.add_argument("--setting", required=True, metavar="KEY", help="a setting that is true or false")
    add_statistics_option(parser)
    parser.add_argument("--rounds", type=int, default=4, metavar="N", help="runs with each value (4)")
    parser.add_argument("--all", action="store_true", help="run queries of which both plans are equal, too")
    options = report.parse(parser, arguments)
    found, planned = run(options)
    title = f"{options.setting} on and off, {options.suite}, scale {options.scale:g}"
    name = options.setting.removeprefix("spark.dovetail.")
    page = report.Page("setting_gains", title, f"{name}-{options.suite}-{options.statistics}")
    write_page(page, options.setting, found, planned)
    goals = targets(found)
    page.write(options, {"targets": goals, "planned": planned, "compared": [asdict(c) for c in found]})
    failed = any(c.failures or c.differs for c in found)
    return 1 if failed or (options.gate and not all(target["hit"] for target in goals)) else 0


if __name__ == "__main__":
    sys.exit(main())
