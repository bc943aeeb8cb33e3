"""Whether a suite gets faster when it runs again with the history of its own runs, with nothing analyzed.

    python -m dovetail_bench.repeated_runs --rounds 3

A first round without history warms up the JVM and is not counted. Then the history is empty, and each round runs every
query twice: once without history and once with it, the one that goes first alternating. After a run with history, the
query runs once more outside of the measurement, which the history records. The runs without history show how much
faster a round gets by itself. Exit code 1 if a query fails or an answer differs, with --gate also if a target
is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dovetail import _sql
from dovetail.comparison import differences
from dovetail_bench import report
from dovetail_bench.join_rows import add_options
from dovetail_bench.metrics import Profile, profile, reason
from dovetail_bench.progress import say
from dovetail_bench.queries import Query
from dovetail_bench.session import DOVETAIL_BARE, HISTORY, Bench, frame_of, suite_bench

# Largest total time of the last round over that of the first one.
MAX_LAST = 0.9

# A query is slower in the last round if it takes this many times its first time, and this many seconds more.
MAX_SLOWER = 1.1
MIN_SECONDS = 0.5

# Whether the history is on, as the value of its setting.
KINDS = ("false", "true")


@dataclass(frozen=True)
class Runs:
    """All runs of a query, one per round.

    Attributes:
        query: Name of the query.
        plain: Runs without history.
        learned: Runs with history.
    """

    query: str
    plain: list[Profile] = field(default_factory=list)
    learned: list[Profile] = field(default_factory=list)

    @property
    def slower(self) -> bool:
        """Whether the last run with history is slower than the first one."""
        first, last = self.learned[0].seconds, self.learned[-1].seconds
        return last > MAX_SLOWER * first and last - first > MIN_SECONDS

    @property
    def differs(self) -> bool:
        """Whether a run has another answer than the first one."""
        return any(differences(self.plain[0].digest, run.digest) for run in self.plain + self.learned)


def run(options: argparse.Namespace) -> tuple[list[Runs], dict[str, str]]:
    """Runs all queries in all rounds. Returns the runs of queries that never failed, and the errors of the others.

    Ctrl-C stops it; the rounds that were complete are reported.
    """
    failures: dict[str, str] = {}
    with suite_bench(options, DOVETAIL_BARE) as (session, _, queries):
        runs = {query.name: Runs(query.name) for query in queries}
        try:
            for number in range(options.rounds + 1):
                for place, query in enumerate(queries):
                    if query.name not in failures:
                        _both(session, query, runs[query.name], number, place, failures)
                say(f"round {number} of {options.rounds}: {_total(runs.values(), number - 1)}")
        except KeyboardInterrupt:
            say("stopped; the complete rounds are reported")
    return complete([r for name, r in runs.items() if name not in failures]), failures


def _both(session: Bench, query: Query, runs: Runs, number: int, place: int, failures: dict[str, str]) -> None:
    """Runs a query without history and, after the first round, with it."""
    try:
        if number == 0:
            _profile(session, query.text, "false")
        else:
            found = {on: _profile(session, query.text, on) for on in KINDS[:: -1 if (place + number) % 2 else 1]}
            runs.plain.append(found["false"])
            runs.learned.append(found["true"])
    except Exception as failed:  # an error of Spark is a finding about this query and ends no run
        failures[query.name] = reason(failed)


def complete(runs: Sequence[Runs]) -> list[Runs]:
    """The same runs without those of a round that was stopped."""
    rounds = min((len(r.learned) for r in runs), default=0)
    return [Runs(r.query, r.plain[:rounds], r.learned[:rounds]) for r in runs]


def _profile(session: Bench, text: str, history: str) -> Profile:
    """Runs a query. With history, runs it once more, as users do, and waits until the history contains this run.

    DOVETAIL PROFILE, which measures, leaves no trace in the history.
    """
    session.spark.conf.set(HISTORY, history)
    found = profile(session.spark, text)
    if history == "true":
        frame_of(session.spark, text).collect()
        if not _sql.function_rows(session.spark, "dovetail_history"):
            say("no run is in the history: rounds with it show only noise")
    return found


def _total(runs: Iterable[Runs], number: int) -> str:
    plain, learned = _seconds([r for r in runs if 0 <= number < len(r.learned)], number)
    return f"{plain:.1f} s without history, {learned:.1f} s with it"


def _seconds(runs: Sequence[Runs], number: int) -> tuple[float, float]:
    """Seconds of all queries in one round, without and with history."""
    return sum(r.plain[number].seconds for r in runs), sum(r.learned[number].seconds for r in runs)


def targets(runs: Sequence[Runs], failures: dict[str, str]) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    first, last = (_seconds(runs, number)[1] for number in (0, -1))
    slower = [r.query for r in runs if r.slower]
    wrong = [r.query for r in runs if r.differs]
    return [
        report.target(
            f"total time of the last round at most {MAX_LAST} of the first", last / first, last <= MAX_LAST * first
        ),
        report.target(
            f"queries slower in the last round by {MAX_SLOWER}x and {MIN_SECONDS} s: none",
            ", ".join(slower) or "none",
            not slower,
        ),
        report.target("answers that differ: none", ", ".join(wrong) or "none", not wrong),
        report.target("queries that fail: none", ", ".join(failures) or "none", not failures),
    ]


def write_page(page: report.Page, runs: Sequence[Runs], goals: Sequence[dict[str, Any]]) -> None:
    """Fills the page."""
    rounds = range(len(runs[0].learned))
    page.text(
        f"{len(runs)} queries, nothing analyzed. Each round runs every query without history and with it, the one that "
        "goes first alternating; the history is empty before the first round. Join rows: rows out of all joins."
    )
    page.targets(goals)
    page.table(
        "Rounds",
        [
            {
                "round": number + 1,
                "seconds without history": plain,
                "seconds with history": learned,
                "planning seconds with history": sum(r.learned[number].planning_ms for r in runs) / 1000,
                "join rows without history": sum(r.plain[number].join_rows for r in runs),
                "join rows with history": sum(r.learned[number].join_rows for r in runs),
                "queries with other orders than without history": sum(
                    r.learned[number].orders != r.plain[number].orders for r in runs
                ),
            }
            for number in rounds
            for plain, learned in [_seconds(runs, number)]
        ],
    )
    page.table(
        "Queries with other join rows in the last round than in the first",
        [
            {
                "query": r.query,
                **{f"join rows {number + 1}": r.learned[number].join_rows for number in rounds},
                **{f"seconds {number + 1}": r.learned[number].seconds for number in rounds},
            }
            for r in runs
            if r.learned[0].join_rows != r.learned[-1].join_rows
        ],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.repeated_runs", description=head)
    add_options(parser)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each query with history (3)")
    options = report.parse(parser, arguments)
    runs, failures = run(options)
    if not runs or not runs[0].learned:
        say("no round was complete")
        return 1
    page = report.Page("repeated_runs", f"Runs with history, {options.suite}, scale {options.scale:g}", options.suite)
    goals = targets(runs, failures)
    write_page(page, runs, goals)
    page.write(options, {"targets": goals, "failures": failures, "runs": [asdict(r) for r in runs]})
    wrong = bool(failures) or any(r.differs for r in runs)
    return 1 if wrong or (options.gate and not all(target["hit"] for target in goals)) else 0


if __name__ == "__main__":
    sys.exit(main())
