"""The JSON of `dovetail_explain` as typed values, which the modules for output formats read.

The jar may be older or newer than this package (a Spark Connect server has its own jar): missing keys become None or
empty, and unknown keys are ignored. The JSON lists the joins of a plan from the bottom up, with the relations below
each join. This module finds the earlier joins that are the inputs of a join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


def read(data: Mapping[str, Any]) -> Report:
    """Reads a report from a JSON object, in which any key may be missing."""
    phases = {
        str(phase): ms
        for phase, value in _mapping(data.get("planning_ms")).items()
        if (ms := _number(value)) is not None
    }
    groups = tuple(_group(group, number) for number, group in enumerate(_items(data.get("groups")), 1))
    model = data.get("cost_model")
    return Report(
        str(data.get("version", "?")),
        data.get("enabled") is not False,
        _text(model),
        phases,
        groups,
        _names(data.get("notes")),
        tuple(_run_step(step) for step in _items(_mapping(data.get("run")).get("steps"))),
    )


def _run_step(data: Mapping[str, Any]) -> Step:
    return Step(
        str(data.get("kind", "?")),
        str(data.get("of", "?")),
        _number(data.get("ms")),
        _number(data.get("bytes")),
        _number(data.get("spilled_bytes")) or 0.0,
        _number(data.get("skew")),
    )


def _group(data: Mapping[str, Any], number: int) -> Group:
    pairs = _number(data.get("pairs"))
    return Group(
        number=number,
        status=str(data.get("status", "unknown")),
        reason=str(data.get("reason") or ""),
        algorithm=_text(data.get("algorithm")),
        pairs=None if pairs is None else int(pairs),
        relations=tuple(_relation(r) for r in _items(data.get("relations"))),
        edges=tuple(Edge(_names(e.get("relations")), str(e.get("condition") or "")) for e in _items(data.get("edges"))),
        before=_tree(data.get("before")),
        after=_tree(data.get("after")),
        runner_up=_alternative(data.get("runner_up"), "order"),
        missing=_all_missing(data.get("missing_statistics")),
        at_run_time=tuple(_at_run_time(order) for order in _items(data.get("at_run_time"))),
    )


def _at_run_time(data: Mapping[str, Any]) -> AtRunTime:
    return AtRunTime(
        _text(data.get("planned")),
        _text(data.get("order")),
        str(data.get("reason") or ""),
        tuple(_number(join.get("actual_rows")) for join in _items(data.get("joins"))),
    )


def _relation(data: Mapping[str, Any]) -> Relation:
    name = str(data.get("name", "?"))
    return Relation(name, _estimate(data.get("rows")), _number(data.get("bytes")), str(data.get("label") or name))


def _all_missing(data: object) -> tuple[Missing, ...] | None:
    return tuple(_missing(m) for m in _items(data) if m.get("statement")) if isinstance(data, list) else None


def _missing(data: Mapping[str, Any]) -> Missing:
    return Missing(
        table=str(data.get("table", "?")),
        columns=_names(data.get("guessed")),
        reason=str(data.get("reason") or ""),
        cost_share=_number(data.get("cost_share")),
        statement=str(data["statement"]),
    )


def _tree(data: object) -> Tree | None:
    if not isinstance(data, Mapping):
        return None
    order = str(data.get("order") or "")
    joins: list[Join] = []
    # Sub-plans that are not yet an input of a join: relations, node, and text in `order`.
    loose: list[tuple[frozenset[str], str | int, str]] = []
    for number, join in enumerate(_items(data.get("joins")), 1):
        relations = _names(join.get("relations"))
        inputs = [part for part in loose if part[0] <= frozenset(relations)]
        loose = [part for part in loose if part not in inputs]
        known = frozenset().union(*(part[0] for part in inputs))
        inputs += [(frozenset([name]), name, name) for name in relations if name not in known]
        if len(inputs) == 2 and f"({inputs[0][2]} {inputs[1][2]})" not in order:
            inputs.reverse()
        joins.append(_join(join, number, tuple(node for _, node, _ in inputs), relations))
        loose.append((frozenset(relations), number, f"({' '.join(text for _, _, text in inputs)})"))
    return Tree(order, _number(data.get("cost")), tuple(joins), tuple(map(_reducer, _items(data.get("reducers")))))


def _reducer(data: Mapping[str, Any]) -> Reducer:
    return Reducer(
        relation=str(data.get("relation") or "?"),
        by=_names(data.get("by")),
        condition=str(data.get("condition") or ""),
        kept=_number(data.get("kept")) or 0.0,
        actual=_number(data.get("actual_kept")),
    )


def _join(data: Mapping[str, Any], number: int, inputs: tuple[str | int, ...], relations: tuple[str, ...]) -> Join:
    rows, actual = _estimate(data.get("rows")), _number(data.get("actual_rows"))
    cost = _mapping(data.get("cost"))
    q_error = _number(data.get("q_error"))
    if q_error is None and rows is not None and actual is not None:
        q_error = q_error_of(rows.value, actual)
    return Join(
        number=number,
        inputs=inputs,
        relations=relations,
        kind=_text(data.get("kind")) or "inner",
        condition=str(data.get("condition") or ""),
        rows=rows,
        method=_text(data.get("method")),
        cost=_number(cost.get("total")),
        parts={part: value for part in COST_PARTS if (value := _number(cost.get(part))) is not None},
        actual=actual,
        q_error=q_error,
        runner_up=_alternative(data.get("runner_up"), "method"),
        why=_text(data.get("why")),
    )


def q_error_of(estimated: float, actual: float) -> float:
    """The q-error: the factor between two numbers of rows. No rows count as one, as everywhere in Dovetail.

    >>> q_error_of(50, 100), q_error_of(100, 50), q_error_of(3, 0)
    (2.0, 2.0, 3.0)
    """
    low, high = sorted((max(estimated, 1.0), max(actual, 1.0)))
    return high / low


def _alternative(data: object, name: str) -> Alternative | None:
    if not isinstance(data, Mapping):
        return None
    cost = data.get("cost")
    total = cost.get("total") if isinstance(cost, Mapping) else cost
    return Alternative(str(data.get(name) or "another plan"), _number(total))


def _estimate(data: object) -> Estimate | None:
    if not isinstance(data, Mapping):
        return None
    value = _number(data.get("value"))
    if value is None:
        return None
    return Estimate(value, _number(data.get("lower")), _number(data.get("upper")), _text(data.get("source")))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return str(value) if value is not None else None


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _items(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
