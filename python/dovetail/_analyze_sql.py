"""The ANALYZE TABLE statements of one request, one function per variant that Spark has.

    ANALYZE TABLE t COMPUTE STATISTICS [NOSCAN]
    ANALYZE TABLE t PARTITION (p = 1, q = 'x') COMPUTE STATISTICS [NOSCAN]
    ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, b
    ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS

Spark parses PARTITION together with FOR COLUMNS, but ignores the partition and reads the whole table: that combination
is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dovetail._analyze_target import Table
from dovetail._identifiers import PartitionValue, literal, quote
from dovetail.errors import ColumnNotFoundError, NotAnalyzableError, PartitionNotFoundError, did_you_mean, listing

ALL: Literal["all"] = "all"

PartitionSpec = Mapping[str, PartitionValue]
Columns = Literal["all"] | Sequence[str] | None
Partitions = Literal["all"] | PartitionSpec | Sequence[PartitionSpec] | None


@dataclass(frozen=True)
class Request:
    """What `analyze` was asked for, with combinations that Spark does not have refused.

    Attributes:
        columns: "all", names, or None for the table's size only.
        partitions: Partition specifications, "all", or None for the whole table.
        histogram: Whether to build histograms; None leaves the session's setting.
        noscan: Only the size in bytes, from the file system, without reading.
    """

    columns: Literal["all"] | tuple[str, ...] | None
    partitions: Literal["all"] | tuple[PartitionSpec, ...] | None
    histogram: bool | None
    noscan: bool

    @classmethod
    def of(cls, columns: Columns, partitions: Partitions, histogram: bool | None, noscan: bool) -> Request:
        """Checks how the arguments of `analyze` go together.

        Raises:
            NotAnalyzableError: A combination that Spark ignores or does not have.
        """
        if columns is not None and partitions is not None:
            raise NotAnalyzableError(
                "columns and partitions cannot go together: Spark has no column statistics per partition. It would "
                "ignore the partitions and read the whole table. Call analyze(columns=...) for the columns of the "
                "whole table, and analyze(partitions=...) for rows and bytes of partitions."
            )
        if columns is not None and noscan:
            raise NotAnalyzableError(
                "noscan and columns cannot go together: column statistics need a scan. Leave one of them out."
            )
        if histogram and columns is None:
            raise NotAnalyzableError(
                "histogram=True needs columns: histograms are kept per column. Add columns='all' or a list of names."
            )
        specs = partition_specs(partitions)
        if isinstance(specs, tuple) and not noscan and any(None in spec.values() for spec in specs):
            raise NotAnalyzableError(
                "a NULL partition cannot be analyzed by its value: Spark stores its bytes, but does not count its "
                "rows. Pass partitions='all' (or only the columns before it), or add noscan=True if bytes are enough."
            )
        return cls(column_names(columns), specs, histogram, noscan)


def column_names(columns: Columns) -> Literal["all"] | tuple[str, ...] | None:
    """The columns that a caller named, as a tuple.

    Raises:
        NotAnalyzableError: Neither "all", None nor names.
    """
    if columns is None or columns == ALL:
        return ALL if columns == ALL else None
    names = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, Iterable) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise NotAnalyzableError(
            f"columns={columns!r} is not understood: pass a list of at least one name, or 'all'. Without it, "
            "mode='dovetail' takes all columns, and mode='spark' rows and bytes of the table only."
        )
    return names


def partition_specs(partitions: Partitions) -> Literal["all"] | tuple[PartitionSpec, ...] | None:
    """The partitions that a caller named, as a tuple of specifications.

    Raises:
        NotAnalyzableError: Neither "all", None nor specifications.
    """
    if partitions is None or partitions == ALL:
        return ALL if partitions == ALL else None
    specs: tuple[object, ...] = (partitions,) if isinstance(partitions, (Mapping, str)) else tuple(partitions)
    checked = tuple(spec for spec in specs if isinstance(spec, Mapping) and spec)
    if not checked or len(checked) < len(specs):
        raise NotAnalyzableError(
            f"partitions={partitions!r} is not understood: pass {{'column': value, ...}}, a list of these, or 'all'; "
            "columns left out stand for all their values."
        )
    return checked


@dataclass(frozen=True)
class Statement:
    """One statement and what to call it in the progress."""

    sql: str
    label: str


@dataclass(frozen=True)
class Plan:
    """The statements of a request for one table.

    Attributes:
        statements: What to run, in order.
        skipped: Columns left out of "all", because Spark has no statistics for their types.
        columns: Columns whose statistics will be collected.
    """

    statements: tuple[Statement, ...]
    skipped: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


def plan(table: Table, request: Request) -> Plan:
    """The statements for one table.

    Raises:
        ColumnNotFoundError: A column does not exist, or Spark has no statistics for its type.
        PartitionNotFoundError: The table is not partitioned like that.
    """
    if request.columns is not None:
        return _all_columns(table) if request.columns == ALL else _named_columns(table, request.columns)
    if request.partitions is not None:
        if request.partitions == ALL:
            every = _names(_partition_columns(table))
            return Plan((_statement(table, f"PARTITION ({every})", request.noscan),))
        return Plan(
            tuple(_statement(table, partition_clause(table, spec), request.noscan) for spec in request.partitions)
        )
    return Plan((_statement(table, "", request.noscan),))


def _statement(table: Table, partition: str, noscan: bool) -> Statement:
    words = ["ANALYZE TABLE", table.quoted, partition, "COMPUTE STATISTICS", "NOSCAN" if noscan else ""]
    return Statement(" ".join(word for word in words if word), f"{table.name} {partition}".strip())


def _all_columns(table: Table) -> Plan:
    """FOR ALL COLUMNS; by name where some have types for which Spark would fail the whole statement."""
    columns = tuple(column for column in table.columns if table.analyzable(column))
    skipped = tuple(column for column in table.columns if column not in columns)
    if not columns:
        raise ColumnNotFoundError(f"Spark has no statistics for any column of {table.name}: {_typed(table, skipped)}.")
    clause = f"FOR COLUMNS {_names(columns)}" if skipped else "FOR ALL COLUMNS"
    sql = f"ANALYZE TABLE {table.quoted} COMPUTE STATISTICS {clause}"
    return Plan((Statement(sql, f"{table.name}, {len(columns)} columns"),), skipped, columns)


def _named_columns(table: Table, names: Sequence[str]) -> Plan:
    columns = tuple(dict.fromkeys(table.column(name) for name in names))
    unsupported = [column for column in columns if not table.analyzable(column)]
    if unsupported:
        raise ColumnNotFoundError(
            f"Spark has no statistics for columns of these types: {_typed(table, unsupported)}. "
            f"Columns of {table.name} that can be analyzed: {listing(c for c in table.columns if table.analyzable(c))}."
        )
    sql = f"ANALYZE TABLE {table.quoted} COMPUTE STATISTICS FOR COLUMNS {_names(columns)}"
    return Plan((Statement(sql, f"{table.name}, {len(columns)} columns"),), columns=columns)


def partition_clause(table: Table, spec: PartitionSpec) -> str:
    """PARTITION (...) of one specification, in the table's order.

    Raises:
        PartitionNotFoundError: A name is not a partition column, or one before it was left open (Spark takes prefixes
            only).
    """
    known = _partition_columns(table)
    values = {}
    for name, value in spec.items():
        column = table.match(name, known)
        if column is None:
            raise PartitionNotFoundError(
                f"table {table.name} is not partitioned by '{name}'.{did_you_mean(name, known)} Partition columns: "
                f"{listing(known)}."
            )
        values[column] = value
    prefix = known[: len(values)]
    if set(prefix) != set(values):
        raise PartitionNotFoundError(
            f"Spark takes partition values from the first partition column on, without a gap: {table.name} is "
            f"partitioned by {listing(known)}, so values for {listing(sorted(values))} alone cannot be given. Give "
            f"also {listing(c for c in prefix if c not in values)}."
        )
    return (
        "PARTITION ("
        + ", ".join(f"{quote(column)} = {literal(values[column], table.escapes)}" for column in prefix)
        + ")"
    )


def _partition_columns(table: Table) -> tuple[str, ...]:
    if not table.partition_columns:
        raise PartitionNotFoundError(
            f"table {table.name} is not partitioned: leave partitions out to analyze the whole table."
        )
    return table.partition_columns


def _names(columns: Sequence[str]) -> str:
    return ", ".join(quote(column) for column in columns)


def _typed(table: Table, columns: Sequence[str]) -> str:
    return listing(f"{column} ({table.columns[column]})" for column in columns)
