"""Reads the JSON of `dovetail_explain` into the typed values of `model`.

The jar may be older or newer than this package (a Spark Connect server has its own jar): missing keys become None or
empty, and unknown keys are ignored. The JSON lists the joins of a plan from the bottom up, with the relations below
each join. This module finds the earlier joins that are the inputs of a join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.report.model import (
    COST_PARTS,
    Alternative,
    AtRunTime,
    Edge,
    Estimate,
    Group,
    Join,
    Missing,
    Reducer,
    Relation,
    Report,
    Step,
    Tree,
)


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
        q_error = _q_error(rows.value, actual)
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


def _q_error(estimated: float, actual: float) -> float:
    """The q-error: the factor between two numbers of rows. No rows count as one, as everywhere in Dovetail.

    >>> _q_error(50, 100), _q_error(100, 50), _q_error(3, 0)
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
