"""The order in which modes run a suite: rounds over all queries, in which every mode goes first equally often.

The mode that runs a query first pays for compiling its code and for cold buffers. Round 0 first plans a query twice in
every mode, because a planner that is new is slow: with empty caches of Dovetail, which is timed by itself, and again to
fill them. Then it runs the query in all modes and compares the plans that they executed. A mode that executed plain
Spark's plan counts as equal in that query and is not timed again. The other modes, with plain Spark among them, are
timed in the rows of a Latin square, so that each of them goes first equally often. If all plans differ, round 0 is the
first row of the square. The later rounds of a query follow one another, the fastest query first: noise changes the
ratios of short times most, and a run that is stopped has few queries without them.

`times` is the command, and `times_report` makes tables of the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import count
from time import perf_counter
from typing import Any, TypeVar

from dovetail.demo.data import Dataset
from dovetail_bench import executed_plan
from dovetail_bench.metrics import Profile, profile, reason
from dovetail_bench.progress import say
from dovetail_bench.queries import Query
from dovetail_bench.session import SPARK, Bench, Mode

# Smallest number of rounds in which a query is timed: the median of fewer means little.
LEAST_ROUNDS = 3

# Number of characters of a plan's hash in the results: enough to tell the plans of one query apart.
HASH = 12

# Bytes read at a time while files are brought into the system's cache.
CHUNK = 1 << 22

CACHES = (
    "Caches: every mode plans a query before it is timed, so that Dovetail's caches (footers, rows read) have what it "
    "needs, as in a session that has read these tables before. Planning with empty caches is timed by itself. The "
    "files of a query's tables are read before each round of it, so that the system has them in memory for every mode, "
    "as far as it has memory. Spark's caches of compiled code and of file listings stay: going first pays for them."
)


@dataclass(frozen=True)
class Run:
    """One run of a query.

    Attributes:
        mode: Name of the mode.
        round: Number of the round, from 0 on.
        place: Position of the mode in the round; 0 for the mode that went first.
        plan: Hash of the executed plan.
        profile: Cost of the run.
    """

    mode: str
    round: int
    place: int
    plan: str
    profile: Profile


@dataclass
class Timing:
    """All runs of one query.

    Attributes:
        runs: All runs, in the order in which they were made.
        failures: Mode → error. A mode that failed once is not run again.
        plans: Plan hash → its text.
        planning: Mode → seconds of each `EXPLAIN` before the rounds. Dovetail's caches are empty for the first one.
    """

    runs: list[Run] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    plans: dict[str, str] = field(default_factory=dict)
    planning: dict[str, list[float]] = field(default_factory=dict)

    def seconds(self) -> float:
        """Seconds of all runs so far, in all modes."""
        return sum(run.profile.seconds for run in self.runs)

    def equal(self) -> set[str]:
        """Names of the modes that executed plain Spark's plan in round 0."""
        first = {run.mode: run.plan for run in self.runs if run.round == 0}
        return {mode for mode, plan in first.items() if mode != SPARK.name and plan == first.get(SPARK.name)}

    def counted(self) -> list[Run]:
        """Runs from which times are taken.

        Runs of round 0 count if they are a row of the square, which they are if all modes were timed later. They also
        count for a mode that was not timed later, because it has no other runs.
        """
        later = {run.mode for run in self.runs if run.round > 0}
        whole = not self.failures and later == {run.mode for run in self.runs}
        return [run for run in self.runs if whole or run.round > 0 or run.mode not in later]

    def balanced(self) -> bool:
        """Whether every mode that was timed in rounds went first equally often. False for a run that was stopped."""
        later = {run.mode for run in self.runs if run.round > 0}
        firsts = {mode: sum(run.place == 0 for run in self.counted() if run.mode == mode) for mode in later}
        none_to_time = len(self.equal()) == len({run.mode for run in self.runs}) - 1
        return len(set(firsts.values())) == 1 if later else none_to_time


Kind = TypeVar("Kind")


def latin_square(modes: Sequence[Kind], start: int) -> Iterator[tuple[Kind, ...]]:
    """Rows of the square, without end. As many rows as there are modes give each mode every place once."""
    for row in count(start):
        first = row % len(modes)
        yield (*modes[first:], *modes[:first])


def rounds_of(modes: int) -> int:
    """Number of rounds in which this many modes are timed: full squares, and at least `LEAST_ROUNDS`."""
    return modes * -(-LEAST_ROUNDS // modes)


def orders(modes: Sequence[str], differing: Sequence[str], number: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Rounds of a query after round 0, with their order of modes.

    Args:
        modes: All modes, in the order that round 0 rotates by the query's number.
        differing: Modes that must still be timed, plain Spark among them.
        number: Number of the query in its suite.
    """
    if len(differing) < 2:
        return
    whole = len(differing) == len(modes)
    rows = latin_square(differing, number + 1 if whole else number)
    for turn in range(1, rounds_of(len(differing)) + (0 if whole else 1)):
        yield turn, next(rows)


class Rounds:
    """Runs the queries of one suite in its modes."""

    def __init__(self, session: Bench, data: Dataset, modes: Sequence[Mode]) -> None:
        self.session, self.data = session, data
        self.modes: Mapping[str, Mode] = {mode.name: mode for mode in modes}
        self.found: dict[str, Timing] = {}
        executed_plan.watch(session.spark)

    def run(self, queries: Sequence[Query]) -> dict[str, Timing]:
        """Runs all rounds. Ctrl-C stops it; it then returns what was measured so far."""
        try:
            for number, query in enumerate(queries):
                self.found[query.name] = Timing()
                self._plan(query, emptied=True)
                self._plan(query)
                self._round(query, 0, next(latin_square(list(self.modes), number)))
            numbered = list(enumerate(queries))
            for number, query in sorted(numbered, key=lambda each: self.found[each[1].name].seconds()):
                for turn, modes in self._later(query.name, number):
                    if turn == 1:
                        self._plan(query)
                    self._round(query, turn, modes)
        except KeyboardInterrupt:
            say("stopped; what was measured is reported")
        return self.found

    def _later(self, name: str, number: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        timed = self.found[name]
        left_out = timed.equal() | set(timed.failures)
        differing = [mode for mode in self.modes if mode not in left_out]
        return orders(list(self.modes), differing, number)

    def _plan(self, query: Query, emptied: bool = False) -> None:
        """Plans the query in every mode, without running it, so that Dovetail's caches have what it needs.

        A planner is slow until the JVM has compiled its code. Dovetail plans within a budget of milliseconds. Without
        this, it would leave groups alone in round 0 that it orders later, and its plan would seem to be plain Spark's.

        Args:
            query: The query.
            emptied: Whether Dovetail's caches are emptied before each mode.
        """
        for mode in self.modes.values():
            self.session.use(mode, self.data)
            if emptied:
                self.session.spark.sql("DOVETAIL CLEAR CACHES")
            begin = perf_counter()
            with suppress(Exception):  # an error of Spark: the run that follows fails, too, and is reported
                self.session.spark.sql(f"EXPLAIN {query.text}")
            self.found[query.name].planning.setdefault(mode.name, []).append(perf_counter() - begin)

    def _round(self, query: Query, turn: int, modes: Sequence[str]) -> None:
        timed = self.found[query.name]
        read_files(self.data, query)
        for place, name in enumerate(modes):
            if name in timed.failures:
                continue
            self.session.use(self.modes[name], self.data)
            try:
                measured = profile(self.session.spark, query.text)
                plan = executed_plan.last(self.session.spark)
            except Exception as failed:  # an error of Spark is a finding about this query and does not end the run
                timed.failures[name] = reason(failed)
                continue
            digest = sha256(plan.encode()).hexdigest()[:HASH]
            timed.plans[digest] = plan
            timed.runs.append(Run(name, turn, place, digest, measured))
        words = [f"{r.mode} {r.profile.seconds:.1f} s" for r in timed.runs if r.round == turn]
        same = f"; plans equal: {', '.join(sorted(timed.equal())) or 'none'}" if turn == 0 else ""
        say(f"round {turn}, {query.name}: {', '.join(words + [f'{mode} FAILED' for mode in timed.failures])}{same}")


def to_json(found: Mapping[str, Timing]) -> dict[str, Any]:
    """All runs, in the form that `times_report.read` reads."""
    runs: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name, timed in found.items():
        counted = {id(run) for run in timed.counted()}
        by_mode = runs.setdefault(name, {})
        for run in timed.runs:
            more = {"round": run.round, "place": run.place, "plan": run.plan, "counted": id(run) in counted}
            by_mode.setdefault(run.mode, []).append(asdict(run.profile) | more)
    return {
        "failures": {name: timed.failures for name, timed in found.items() if timed.failures},
        "equal plans": {name: sorted(timed.equal()) for name, timed in found.items()},
        "not balanced": [name for name, timed in found.items() if not timed.balanced()],
        "plans": {
            name: {digest: executed_plan.operators(plan) for digest, plan in timed.plans.items()}
            for name, timed in found.items()
        },
        "planning": {name: timed.planning for name, timed in found.items()},
        "runs": runs,
    }


def read_files(data: Dataset, query: Query) -> None:
    """Brings the files of the query's tables into the system's cache."""
    words = set(re.findall(r"\w+", query.text.lower()))
    for table in data.tables:
        if table in words:
            for file in sorted(data.location(table).rglob("*.parquet")):
                with file.open("rb") as opened:
                    while opened.read(CHUNK):
                        pass
