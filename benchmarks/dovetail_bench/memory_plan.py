"""Joins of a physical plan of Spark, with what each of them builds, read node by node before or after a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

BROADCAST = "BroadcastHashJoin"
HASHED = "ShuffledHashJoin"
_JOINS = (BROADCAST, HASHED, "SortMergeJoin", "BroadcastNestedLoopJoin", "CartesianProduct")
_BUILDS = (BROADCAST, HASHED, "BroadcastNestedLoopJoin")


@dataclass(frozen=True)
class PlannedJoin:
    """A join of a physical plan.

    Attributes:
        method: Spark's name of the join method.
        build: Tables below the side that the join broadcasts or hashes; empty for other methods.
        bytes: Size of what was built, as Spark counts it; 0 before the run.
    """

    method: str
    build: tuple[str, ...]
    bytes: int

    @staticmethod
    def of_json(body: Mapping[str, Any]) -> PlannedJoin:
        return PlannedJoin(body["method"], tuple(body["build"]), body["bytes"])


def joins(plan: Any, initial: bool) -> list[PlannedJoin]:
    """Joins from the top. For an adaptive plan, `initial` selects the plan it began with instead of its current one."""
    found = []
    for node in _nodes(plan, initial):
        method = _name(node)
        if method in _BUILDS:
            left = str(node.buildSide()) == "BuildLeft"
            built = list(_nodes(node.left() if left else node.right(), initial))
            tables = sorted({node.tableIdentifier().get().table() for node in built if _is_table(node)})
            found.append(PlannedJoin(method, tuple(tables), _bytes(method, node, built)))
        elif method in _JOINS:
            found.append(PlannedJoin(method, (), 0))
    return found


def _bytes(method: str, join: Any, built: list[Any]) -> int:
    if method == HASHED:
        return max(0, int(join.metrics().apply("buildDataSize").value()))
    exchanges = [node for node in built if _name(node) == "BroadcastExchange"]
    return max(0, int(exchanges[0].metrics().apply("dataSize").value())) if exchanges else 0


def _nodes(node: Any, initial: bool) -> Iterator[Any]:
    yield node
    for child in _children(node, initial):
        yield from _nodes(child, initial)


def _children(node: Any, initial: bool) -> list[Any]:
    name = _name(node)
    if name == "AdaptiveSparkPlan":
        return [node.initialPlan() if initial else node.executedPlan()]
    if name.endswith("QueryStage"):
        return [node.plan()]
    if name == "ReusedExchange":
        return [node.child()]
    children = node.children()
    return [children.apply(i) for i in range(children.size())]


def _is_table(node: Any) -> bool:
    return _name(node) == "FileSourceScan" and bool(node.tableIdentifier().isDefined())


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName()).removesuffix("Exec")
