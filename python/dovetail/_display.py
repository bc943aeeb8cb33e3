"""Base classes of results that are displayed as text at a prompt and by `print`, and as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from dovetail._table_text import table_text
from dovetail.report import tables


@dataclass(frozen=True)
class Table:
    """A table with cells of text; None means unknown.

    Attributes:
        header: Column titles.
        rows: Cells, as many per row as there are titles.
        right: Indices of the columns that are aligned to the right (numbers).
        paths: Indices of the columns of paths, of which text shows the beginning and the end.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    right: Collection[int] = ()
    paths: Collection[int] = ()


class Display:
    """Derives `str`, `repr` and a notebook's HTML from blocks of lines and tables."""

    __slots__ = ()

    def _blocks(self) -> list[str | Table]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(
            block if isinstance(block, str) else table_text(block.header, block.rows, block.right, block.paths)
            for block in self._blocks()
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return tables.fragment(
            tables.lines(block) if isinstance(block, str) else tables.table(block.header, block.rows, block.right)
            for block in self._blocks()
        )


class Entry(Protocol):
    """One row of a `Listing`."""

    HEADER: ClassVar[tuple[str, ...]]
    RIGHT: ClassVar[frozenset[int]]

    def _cells(self) -> Sequence[str | None]: ...


E = TypeVar("E", bound=Entry)


class Listing(Display, tuple[E, ...]):
    """A tuple that is displayed as a table with one row per entry."""

    __slots__ = ()

    def _blocks(self) -> list[str | Table]:
        if not self:
            return ["none"]
        return [Table(self[0].HEADER, [entry._cells() for entry in self], self[0].RIGHT)]


def number(value: float | None, form: str = ",") -> str | None:
    """A number as a cell.

    >>> number(1234), number(0.125, ".1%"), number(None)
    ('1,234', '12.5%', None)
    """
    return None if value is None else format(value, form)


def time(value: Any) -> str | None:
    """A time as a cell, to the second."""
    return None if value is None else f"{value:%Y-%m-%d %H:%M:%S}"
