"""Shared by both modes of `analyze`: the request, the statements made from it, and the interface of a mode.

analysis.py is the pipeline. _analyze_dovetail.py and _analyze_spark.py are the two modes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from dovetail import _sql
from dovetail._identifiers import PartitionValue, Quotes, literal, quote
from dovetail.errors import AnalyzeError, NotAnalyzableError
from dovetail.statistics import TableStats, stats

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from dovetail._analyze_target import Database, Table

ALL: Literal["all"] = "all"

# Whether Dovetail uses histograms, and whether `analyze` lets Spark build them.
TOGGLE_KEY = "spark.dovetail.histogram.enabled"

PartitionSpec = Mapping[str, PartitionValue]
Columns = Literal["all"] | Sequence[str] | None
Partitions = Literal["all"] | PartitionSpec | Sequence[PartitionSpec] | None
Groups = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Request:
    """The arguments of `analyze` in one form.

    Attributes:
        columns: "all", names, or None if not given.
        partitions: Partition specifications, "all", or None if not given.
        histogram: Whether to build histograms; None if not given.
        noscan: Whether to store only the size in bytes from the file system, without reading the data.
        groups: Groups of columns whose distinct combinations are counted.
    """

    columns: Literal["all"] | tuple[str, ...] | None = None
    partitions: Literal["all"] | tuple[PartitionSpec, ...] | None = None
    histogram: bool | None = None
    noscan: bool = False
    groups: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(
        cls, columns: Columns, partitions: Partitions, histogram: bool | None, noscan: bool, groups: Groups = ()
    ) -> Request:
        """The request made from a call's arguments.

        Raises:
            NotAnalyzableError: An argument is not of the kind that is allowed.
        """
        if not (histogram is None or isinstance(histogram, bool)):
            raise NotAnalyzableError(f"histogram={histogram!r} is not allowed: give True, False or None.")
        if not isinstance(noscan, bool):
            raise NotAnalyzableError(f"noscan={noscan!r} is not allowed: give True or False.")
        return cls(_columns(columns), _partitions(partitions), histogram, noscan, _groups(groups))


@dataclass(frozen=True)
class Statement:
    """One statement, its label in the progress, and the partition that it names."""

    sql: str
    label: str
    spec: PartitionSpec | None = None


class Mode(ABC):
    """One way to collect statistics. The methods are called in this order, from `statements` on once per table."""

    @abstractmethod
    def check(self, request: Request) -> None:
        """Raises NotAnalyzableError if this mode does not accept an argument or a combination of arguments."""

    @abstractmethod
    def refuse(self, target: Table | Database, request: Request) -> None:
        """Raises NotAnalyzableError if this mode cannot collect the requested statistics of a target."""

    def settings(self, spark: SparkSession, request: Request) -> dict[str, str]:
        """Session settings that apply during the call."""
        return {}

    @abstractmethod
    def statements(self, table: Table, request: Request) -> tuple[Statement, ...]:
        """The statements to run for a table, in order.

        Raises:
            ColumnNotFoundError: A column does not exist, or cannot be analyzed.
            PartitionNotFoundError: The table is not partitioned like that.
        """

    @abstractmethod
    def failure(self, spark: SparkSession, table: Table, statement: Statement, error: Exception) -> AnalyzeError:
        """The error to raise for an error of Spark in a statement."""

    @abstractmethod
    def notes(self, spark: SparkSession, table: Table, request: Request, answers: Sequence[Row]) -> list[str]:
        """Notes on what was not collected, from the table's properties and the rows that the statements returned."""

    def known(self, spark: SparkSession, table: Table, request: Request) -> TableStats:
        """The statistics of the table after the call."""
        return replace(stats(spark, table.quoted), table=table.name)


def histograms_are_off(spark: SparkSession) -> bool:
    """Whether the session's setting turns histograms off, so that none are built."""
    return (_sql.setting(spark, TOGGLE_KEY) or "").strip().lower() == "false"


def names(columns: Iterable[str]) -> str:
    """The columns as a list in SQL, each between backticks."""
    return ", ".join(quote(column) for column in columns)


def partition_clause(values: PartitionSpec, style: Quotes) -> str:
    """The PARTITION (...) clause for these columns and values."""
    return f"PARTITION ({', '.join(f'{quote(column)} = {literal(value, style)}' for column, value in values.items())})"


def _columns(columns: Columns) -> Literal["all"] | tuple[str, ...] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        return ALL if columns == ALL else (columns,)
    named = _names(columns)
    if not named:
        raise NotAnalyzableError(
            f"columns={columns!r} is not understood: pass a list of at least one name, or 'all'. Without it, "
            "mode='dovetail' takes all columns, and mode='spark' rows and bytes of the table only."
        )
    return named


def _partitions(partitions: Partitions) -> Literal["all"] | tuple[PartitionSpec, ...] | None:
    if partitions is None:
        return None
    if isinstance(partitions, str) and partitions == ALL:
        return ALL
    specs = (partitions,) if isinstance(partitions, Mapping) else _items(partitions) or ()
    checked = tuple(spec for spec in specs if isinstance(spec, Mapping) and _names(spec))
    if not checked or len(checked) < len(specs):
        raise NotAnalyzableError(
            f"partitions={partitions!r} is not understood: pass {{'column': value, ...}}, a list of these, or 'all'; "
            "columns left out stand for all their values."
        )
    return checked


def _groups(groups: Groups) -> tuple[tuple[str, ...], ...]:
    given = _items(groups)
    named = tuple(_names(group) or () for group in given or ())
    if given is None or not all(len(group) > 1 for group in named):
        raise NotAnalyzableError(
            f"groups={groups!r} is not understood: pass a list of groups, each a list of two or more columns, "
            "e.g. groups=[['city', 'zip']]."
        )
    return named


def _names(value: object) -> tuple[str, ...] | None:
    """The items of a list; None if it is not a list, or if an item is not text."""
    found = _items(value)
    return found if found is not None and all(isinstance(item, str) for item in found) else None


def _items(value: object) -> tuple[Any, ...] | None:
    """The items of a list or of another iterable; None for text and for a value without items."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return None
    try:
        return tuple(value)
    except TypeError:  # a Column of pyspark looks like an iterable
        return None
