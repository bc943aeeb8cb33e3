"""The result of `dovetail_explain` as typed values, which the modules for output formats read; `reading` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Sources of row counts that are guesses without statistics. ANALYZE would replace the guess.
GUESSES = ("size", "assumed")

# Parts of a cost in the order of execution; `total` is their sum. A `scan` below 0 is the part of a scan's work that
# the join saves.
COST_PARTS = ("scan", "exchange", "sort", "hash", "broadcast", "output")


@dataclass(frozen=True)
class Estimate:
    """A number of rows with its bounds and source; None means unknown."""

    value: float
    lower: float | None
    upper: float | None
    source: str | None


@dataclass(frozen=True)
class Relation:
    """One input of a join group: a table, or a sub-plan that the search treats like a table.

    Attributes:
        name: Alias, or the table if there is no alias; unique in the group.
        label: Table and alias, as written in the query.
    """

    name: str
    rows: Estimate | None
    bytes: float | None
    label: str


@dataclass(frozen=True)
class Edge:
    """A predicate, or a class of equal columns, and the relations that it connects."""

    relations: tuple[str, ...]
    condition: str


@dataclass(frozen=True)
class Alternative:
    """The second-best choice: another method for a join, or another order for a group."""

    text: str
    cost: float | None


@dataclass(frozen=True)
class Missing:
    """A table whose missing statistics affect the estimates of a group.

    Attributes:
        table: Name of the table, as used in a statement.
        columns: Columns whose numbers of distinct values are unknown.
        reason: What is known instead.
        cost_share: Share of the query's predicted cost in joins with the table, 0 to 1.
        statement: Statement that collects the statistics.
    """

    table: str
    columns: tuple[str, ...]
    reason: str
    cost_share: float | None
    statement: str


@dataclass(frozen=True)
class Join:
    """One join of a plan.

    Attributes:
        number: Position in the plan, from 1, inputs first.
        inputs: Names of relations and numbers of earlier joins, left first.
        relations: All relations below the join.
        kind: Type of the join, "inner" if none is given.
        parts: Cost by part; unknown parts are left out.
        actual: Rows that the join returned in a run.
        q_error: Factor between estimated and actual rows, at least 1.
        runner_up: Cheapest other method.
        why: Reason for the method.
    """

    number: int
    inputs: tuple[str | int, ...]
    relations: tuple[str, ...]
    kind: str
    condition: str
    rows: Estimate | None
    method: str | None
    cost: float | None
    parts: Mapping[str, float]
    actual: float | None
    q_error: float | None
    runner_up: Alternative | None
    why: str | None = None


@dataclass(frozen=True)
class Reducer:
    """A Bloom filter on an input.

    Attributes:
        relation: Input whose rows are filtered.
        by: Inputs from which the keys come.
        condition: Keys of both sides.
        kept: Estimated share of the rows that pass.
        actual: Share of the rows that passed in a run; None means unknown.
    """

    relation: str
    by: tuple[str, ...]
    condition: str
    kept: float
    actual: float | None


@dataclass(frozen=True)
class Tree:
    """A plan of a group: its joins, inputs first and the root last, and its Bloom filters."""

    order: str
    cost: float | None
    joins: tuple[Join, ...]
    reducers: tuple[Reducer, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the joins form one tree. They do not if a list of relations is missing; then they cannot be drawn."""
        used = sorted(node for join in self.joins for node in join.inputs if isinstance(node, int))
        return bool(self.joins) and all(join.inputs for join in self.joins) and used == list(range(1, len(self.joins)))

    def leaves(self) -> list[str]:
        """The relations from left to right, as in `order`."""
        found: list[str] = []
        # a list and no recursion: a tree may be deeper than Python's stack
        left: list[str | int] = [len(self.joins)] if self.whole else []
        while left:
            node = left.pop()
            if isinstance(node, str):
                found.append(node)
            else:
                left += reversed(self.joins[node - 1].inputs)
        return found


@dataclass(frozen=True)
class AtRunTime:
    """The decision at run time about the order of a chain of a group's joins.

    Attributes:
        planned: Planned order; None if nothing could be decided.
        order: Order that replaced the planned one; None if it was kept.
        reason: Reason for the decision.
        rows: Rows that each join of the new order returned; None if they were not counted.
    """

    planned: str | None
    order: str | None
    reason: str
    rows: tuple[float | None, ...]


@dataclass(frozen=True)
class Group:
    """A group of joins that Dovetail ordered together, or could not order."""

    number: int
    status: str
    reason: str
    algorithm: str | None
    pairs: int | None
    relations: tuple[Relation, ...]
    edges: tuple[Edge, ...]
    before: Tree | None
    after: Tree | None
    runner_up: Alternative | None
    missing: tuple[Missing, ...] | None = None
    at_run_time: tuple[AtRunTime, ...] = ()

    @property
    def verdict(self) -> str:
        """The status in words, "left alone"."""
        return self.status.replace("_", " ")

    @property
    def plan(self) -> Tree | None:
        """The plan that is used."""
        return self.after or self.before

    @property
    def written_cost(self) -> float | None:
        """Cost of the written order, with which other costs are compared."""
        return None if self.before is None else self.before.cost

    @property
    def guessed(self) -> list[str]:
        """Tables with guessed rows, each once; empty if the jar itself reports missing statistics (newer jars do)."""
        if self.missing is not None:
            return []
        names = (r.name.partition("#")[0] for r in self.relations if r.rows is not None and r.rows.source in GUESSES)
        return list(dict.fromkeys(name for name in names if "(" not in name))


@dataclass(frozen=True)
class Step:
    """A part of a plan that ran; None means unknown.

    Attributes:
        kind: scan, join, sort, exchange or broadcast.
        of: Inputs below this part.
        millis: Time of all tasks together in milliseconds; for a broadcast, time of the driver.
        bytes: Bytes that were read from files, written for other tasks, or broadcast.
        spilled: Bytes written to disk because memory was short.
        skew: Size of the largest partition divided by the median size.
    """

    kind: str
    of: str
    millis: float | None
    bytes: float | None
    spilled: float
    skew: float | None


@dataclass(frozen=True)
class Report:
    """The whole result of `dovetail_explain` for a query."""

    version: str
    enabled: bool
    cost_model: str | None
    phases: Mapping[str, float]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    run: tuple[Step, ...] = ()

    @property
    def total_ms(self) -> float | None:
        """Planning time in Dovetail's rule, in milliseconds."""
        return self.phases.get("total")
