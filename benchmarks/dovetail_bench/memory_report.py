"""Results of `memory`: pairs that fail with Dovetail alone, broadcasts that Dovetail chose, and those it missed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dovetail_bench import report
from dovetail_bench.memory_cases import HASH_JOIN, Case
from dovetail_bench.memory_driver import OK
from dovetail_bench.memory_plan import BROADCAST, HASHED, PlannedJoin
from dovetail_bench.memory_tables import MIB, TYPES

# Number of pairs that plain Spark must answer in a whole run.
LEAST_PAIRS = 100

# Spark's default of spark.sql.autoBroadcastJoinThreshold, which the runs use.
THRESHOLD = 10 * MIB
# Required of every run: however wrong an estimate is, a broadcast takes at most this many times the threshold …
# Dovetail itself has higher limits: 128 times the threshold, and a fifth of the heap beyond 300 MiB.
MOST_THRESHOLDS = 32
# … and at most this part of the driver's heap.
HEAP_SHARE = 10

LEAST_MADE = 0.5

_UNITS = {"m": MIB, "g": 1024 * MIB}


@dataclass(frozen=True)
class Run:
    """A run of one side of a pair.

    Attributes:
        state: OK, FAILED, TIMED_OUT or LOST.
        rows: Rows of the answer.
        error: Error, if there is no answer.
        seconds: Seconds until the answer or the error.
        planned: Joins of the plan before the run.
        executed: Joins of the plan that ran; empty if the run failed.
    """

    state: str
    rows: list[Any]
    error: str
    seconds: float
    planned: tuple[PlannedJoin, ...]
    executed: tuple[PlannedJoin, ...]

    @staticmethod
    def of_answer(body: Mapping[str, Any]) -> Run:
        planned, executed = (tuple(map(PlannedJoin.of_json, body.get(key, ()))) for key in ("planned", "executed"))
        error = str(body.get("error", ""))
        return Run(body["state"], body.get("rows", []), error, round(body["seconds"], 2), planned, executed)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods of the joins that ran or, if those are not known, of the planned joins."""
        return tuple(join.method for join in self.executed or self.planned)


@dataclass(frozen=True)
class Pair:
    """A case, run by plain Spark and by Dovetail.

    Attributes:
        case: Case that was run.
        plain: Run of plain Spark.
        ours: Run of Dovetail.
        true_bytes: Size of the payload input in memory, as Spark counts it for a broadcast.
        again: Further runs of Dovetail, if plain Spark answered and Dovetail failed or answered otherwise.
    """

    case: Case
    plain: Run
    ours: Run
    true_bytes: int
    again: tuple[Run, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether plain Spark answers."""
        return self.plain.state == OK

    @property
    def differs(self) -> bool:
        """Whether plain Spark answers, and Dovetail's first run fails or answers otherwise."""
        return self.answered and not self._same(self.ours)

    @property
    def failed_at_times(self) -> bool:
        """Whether Dovetail failed once, and then answered in every further run with plain Spark's own joins.

        A sort of 250 MiB in a driver of 600 MiB runs out of memory now and then, whoever planned it.
        """
        by_its_joins = all(self._same(run) and run.methods == self.plain.methods for run in self.again)
        return self.differs and self.ours.state != OK and bool(self.again) and by_its_joins

    @property
    def failed_with_dovetail_alone(self) -> bool:
        return self.differs and not self.failed_at_times

    def _same(self, run: Run) -> bool:
        return run.state == OK and run.rows == self.plain.rows

    @property
    def safe(self) -> bool:
        """Whether a broadcast of the payload input would be safe, and plain Spark does not plan it."""
        if self.case.kind == HASH_JOIN:
            return False
        return self.true_bytes <= THRESHOLD and not self._broadcasts_payload(self.plain.planned)

    @property
    def made(self) -> bool:
        """Whether Dovetail's run has that broadcast, planned or added at run time. A failed run counts by its plan.

        A broadcast of the side that the payload is joined with counts, too, because neither side is then shuffled. The
        limits hold for it as well.
        """
        return self._joins_by_broadcast(self.ours.executed or self.ours.planned)

    @property
    def planned(self) -> bool:
        """Whether Dovetail plans that broadcast before the run, when adaptive execution cannot know the size yet."""
        return self._joins_by_broadcast(self.ours.planned)

    def _joins_by_broadcast(self, joins: Sequence[PlannedJoin]) -> bool:
        """Whether nothing is shuffled: all joins are broadcast joins. The other joins read a table of few rows."""
        return bool(joins) and all(j.method == BROADCAST for j in joins)

    def _broadcasts_payload(self, joins: Sequence[PlannedJoin]) -> bool:
        return any(j.method == BROADCAST and self.case.payload.name in j.build for j in joins)

    @property
    def chosen_bytes(self) -> int:
        """Largest broadcast of Dovetail that plain Spark does not have, as Spark counts it, or else by true size."""
        plain = {j.build for j in (*self.plain.planned, *self.plain.executed) if j.method == BROADCAST}
        joins = self.ours.executed or self.ours.planned
        return max((self._size(j) for j in joins if j.method == BROADCAST and j.build not in plain), default=0)

    def _size(self, join: PlannedJoin) -> int:
        return join.bytes or (self.true_bytes if self.case.payload.name in join.build else 0)

    @property
    def hashed_bytes(self) -> int:
        """Largest hash table, summed over tasks, if plain Spark sorts."""
        if HASHED in self.plain.methods:
            return 0
        return max((j.bytes for j in self.ours.executed if j.method == HASHED), default=0)

    @property
    def broadcasts_too_much(self) -> bool:
        return self.chosen_bytes > min(MOST_THRESHOLDS * THRESHOLD, heap(self.case.driver) // HEAP_SHARE)

    def json(self) -> dict[str, Any]:
        """The pair and what follows from it, for JSON."""
        return {
            "case": self.case.name,
            "sql": self.case.sql(),
            "conf": self.case.conf,
            "collected": self.case.collected,
            "true_bytes": self.true_bytes,
            "safe": self.safe,
            "planned": self.planned,
            "made": self.made,
            "plain": asdict(self.plain),
            "dovetail": asdict(self.ours),
            "again": [asdict(run) for run in self.again],
        }


def heap(memory: str) -> int:
    """Bytes of a driver's memory, which is written as Spark writes it."""
    return int(memory[:-1]) * _UNITS[memory[-1]]


def targets(pairs: Sequence[Pair], least: int = LEAST_PAIRS) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    answered = sum(p.answered for p in pairs)
    failed = sum(p.failed_with_dovetail_alone for p in pairs)
    safe = [p for p in pairs if p.safe]
    made, planned = sum(p.made for p in safe), sum(p.planned for p in safe)
    too_much = sum(p.broadcasts_too_much for p in pairs)
    largest = max((p.chosen_bytes for p in pairs), default=0)
    limit = f"{MOST_THRESHOLDS} thresholds or 1/{HEAP_SHARE} of the heap"
    return [
        report.target(f"at least {least} pairs that plain Spark answers", answered, answered >= least),
        report.target("pairs that fail with Dovetail alone: none", failed, failed == 0),
        report.target(
            f"at least {LEAST_MADE:.0%} of the safe broadcasts that plain Spark does not plan are made",
            f"{made} of {len(safe)}, {planned} planned before the run",
            bool(safe) and made >= LEAST_MADE * len(safe),
        ),
        report.target(
            f"no broadcast chosen by Dovetail above {limit}",
            f"{too_much}; the largest {largest / MIB:,.1f} MiB",
            too_much == 0,
        ),
    ]


def write_page(page: report.Page, pairs: Sequence[Pair], least: int) -> None:
    """Fills the page."""
    page.text(
        f"{len(pairs):,} pairs: the same query under the same settings by plain Spark and by Dovetail, in turns. "
        "The true size of a payload input is what Spark counts for a broadcast of it in a large driver. "
        f"A broadcast is safe up to {THRESHOLD // MIB} MiB, the default threshold. "
        "It is made if the join runs by it, or by one of the other side. “Planned” counts those that Dovetail's plan "
        "has before the run; adaptive execution adds the others once it knows the size."
    )
    page.targets(targets(pairs, least))
    page.table("Kinds of joins", _groups("kind", lambda c: c.kind, pairs))
    page.table(
        "Drivers",
        _groups("driver, planning", lambda c: f"{c.driver}, {'adaptive' if c.adaptive else 'static'}", pairs),
    )
    page.table("Types", _groups("type", lambda c: c.payload.kind, pairs, TYPES))
    page.table("Contents", _groups("content", lambda c: f"{c.payload.content}, {c.payload.format}", pairs))
    page.table("Statistics", _groups("statistics", lambda c: "collected" if c.collected else "none", pairs))
    page.table("Failed with Dovetail alone", [_row(p) for p in pairs if p.failed_with_dovetail_alone])
    page.table("Failed once with Dovetail, by plain Spark's joins", [_row(p) for p in pairs if p.failed_at_times])
    page.table("Not answered by plain Spark", [_row(p) for p in pairs if not p.answered])
    page.table("Broadcasts above the limits", [_row(p) for p in pairs if p.broadcasts_too_much])
    page.table("Safe broadcasts not made", [_row(p) for p in pairs if p.safe and not p.made])
    largest = sorted((p for p in pairs if p.chosen_bytes), key=lambda p: -p.chosen_bytes)
    page.table("Largest broadcasts chosen by Dovetail", [_row(p) for p in largest[:10]])
    hashed = sorted((p for p in pairs if p.hashed_bytes), key=lambda p: -p.hashed_bytes)
    page.table("Largest hash tables where plain Spark sorts", [_row(p) for p in hashed[:10]])


def _groups(
    name: str, key: Callable[[Case], str], pairs: Sequence[Pair], names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    found = names or list(dict.fromkeys(key(p.case) for p in pairs))
    groups = {value: [p for p in pairs if key(p.case) == value] for value in found}
    return [_group(name, value, group) for value, group in groups.items() if group]


def _group(name: str, value: str, pairs: Sequence[Pair]) -> dict[str, Any]:
    safe = [p for p in pairs if p.safe]
    both = [p for p in pairs if p.answered and p.ours.state == OK]
    return {
        name: value,
        "pairs": len(pairs),
        "answered by Spark": sum(p.answered for p in pairs),
        "failed with Dovetail alone": sum(p.failed_with_dovetail_alone for p in pairs),
        "safe broadcasts": len(safe),
        "planned": sum(p.planned for p in safe),
        "made": sum(p.made for p in safe),
        "largest broadcast, MiB": max(p.chosen_bytes for p in pairs) / MIB,
        "seconds, Spark": sum(p.plain.seconds for p in both),
        "seconds, Dovetail": sum(p.ours.seconds for p in both),
    }


def _row(pair: Pair) -> dict[str, Any]:
    return {
        "pair": pair.case.name,
        "query": f"{pair.case.shape} {pair.case.predicate}",
        "true MiB": pair.true_bytes / MIB,
        "Spark": _run(pair.plain),
        "Dovetail": _run(pair.ours),
        "largest broadcast, MiB": pair.chosen_bytes / MIB,
        "hash tables, MiB": pair.hashed_bytes / MIB,
        "error": (pair.ours.error or pair.plain.error)[:160],
    }


def _run(run: Run) -> str:
    return f"{run.state}, {run.seconds:.1f} s, {' '.join(run.methods)}"
