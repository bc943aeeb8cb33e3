"""The part of a generated query that all dialects share: trees of joins over inputs, and random choices."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

T = TypeVar("T")

# Joins whose output has only the columns of the left side.
FILTERING = ("LEFT SEMI JOIN", "LEFT ANTI JOIN")


class Relation(Protocol):
    """A relation in a FROM clause."""

    @property
    def sql(self) -> str:
        """Text of the relation, with its alias."""


I = TypeVar("I", bound=Relation)  # noqa: E741


class RandomJoins(ABC, Generic[I]):
    """Generator of joins of all kinds. All choices come from `chance`.

    A dialect defines the inputs by `_input` and the join conditions by `_condition`, and has these settings:

    Attributes:
        KINDS: Kinds of joins, each repeated as often as it is likely.
        CHAIN: Share of the joins whose right side is a single input.
    """

    KINDS: ClassVar[Sequence[str]]
    CHAIN: ClassVar[float]

    def __init__(self, chance: random.Random) -> None:
        self._random = chance
        self._aliases = 0
        self._wide = 0

    @abstractmethod
    def _input(self) -> I:
        """A table or a derived table."""

    @abstractmethod
    def _condition(self, left: Sequence[I], right: Sequence[I]) -> str:
        """Condition that joins one of the left inputs with one of the right inputs."""

    def _joins(self, size: int) -> tuple[str, list[I]]:
        """A tree of joins: mostly a chain, sometimes with joins in parentheses."""
        if size == 1:
            leaf = self._input()
            return leaf.sql, [leaf]
        right_size = 1 if self._chance(self.CHAIN) else self._random.randint(1, size - 1)
        left, left_visible = self._joins(size - right_size)
        right, right_visible = self._joins(right_size)
        if right_size > 1:
            right = f"({right})"
        kind = self._random.choice(self.KINDS)
        if kind == "CROSS JOIN" and self._widen():
            return f"{left} CROSS JOIN {right}", left_visible + right_visible
        if kind == "CROSS JOIN":
            kind = "JOIN"
        visible = left_visible if kind in FILTERING else left_visible + right_visible
        return f"{left} {kind} {right} ON {self._condition(left_visible, right_visible)}", visible

    def _commas(self, size: int) -> tuple[str, list[I], list[str]]:
        """`FROM a, b, c`, with the join conditions for WHERE."""
        inputs = [self._input() for _ in range(size)]
        conditions = [self._condition(inputs[:i], [inputs[i]]) for i in range(1, size)]
        shuffled = self._random.sample(inputs, size)
        return ", ".join(i.sql for i in shuffled), inputs, conditions

    def _widen(self) -> bool:
        """Whether a join that multiplies rows is allowed: one per query."""
        self._wide += 1
        return self._wide == 1

    def _alias(self) -> str:
        self._aliases += 1
        return f"r{self._aliases}"

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _one(self, *choices: T) -> T:
        return self._random.choice(choices)

    def _pick(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)
