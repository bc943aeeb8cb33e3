"""Statistics of tables, columns and databases as typed values; `statistics` reads them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail._display import Display, Table
from dovetail._error_text import did_you_mean, kind_of, listing

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class ColumnStats:
    """Statistics of one column; None means unknown.

    Attributes:
        name: The column's name.
        data_type: Its Spark type, "int" or "decimal(7,2)".
        distinct_count: Number of distinct values without NULL; an estimate unless `distinct_error` is 0 (by default,
            Spark's estimate is within 5 %).
        null_count: Number of NULLs.
        min: Smallest value as text; Spark stores none for strings.
        max: Largest value as text.
        avg_length: Average size of a value in bytes.
        max_length: Size of the longest value in bytes.
        histogram_bins: Number of bins of the equi-height histogram; None if there is no histogram.
        source: Where the numbers came from, e.g. "catalog".
        confidence: How far they can be trusted: "exact" if all of them are counted, "estimated" or "guessed".
        frequent_values: Number of values whose counts are known; None if Dovetail collected none.
        top_values: The most frequent of them with their counts, most frequent first; empty for private columns.
        sample_rows: Rows of the sample that contains the column; None if there is none.
        collected_at: When Dovetail collected it; None for other sources.
        fresh: Whether the data has not changed since.
        unread_files: Number of files that were added or changed since.
        distinct_error: Relative standard error of `distinct_count`: 0 if it was counted, None if unknown.
        top_counts: What the counts in `top_values` are: "exact", "at least" or "about".
    """

    name: str
    data_type: str | None
    distinct_count: int | None
    null_count: int | None
    min: str | None
    max: str | None
    avg_length: int | None
    max_length: int | None
    histogram_bins: int | None
    source: str | None
    confidence: str | None
    frequent_values: int | None = None
    top_values: Mapping[str, int] = field(default_factory=dict)
    sample_rows: int | None = None
    collected_at: datetime.datetime | None = None
    fresh: bool | None = None
    unread_files: int | None = None
    distinct_error: float | None = None
    top_counts: str | None = None


@dataclass(frozen=True)
class GroupStats:
    """Distinct values of several columns together, as collected for `groups=` of `analyze`.

    Attributes:
        columns: The columns.
        distinct_count: Number of distinct combinations without a NULL; an estimate.
        collected_at: When Dovetail collected it.
        fresh: Whether the data has not changed since.
    """

    columns: tuple[str, ...]
    distinct_count: int
    collected_at: datetime.datetime
    fresh: bool


@dataclass(frozen=True)
class PartitionStats:
    """Size of one partition as stored by ANALYZE TABLE ... PARTITION; None means unknown.

    Attributes:
        partition: The partition as SHOW PARTITIONS prints it, "year=2024/month=1".
        rows: Number of rows; None after NOSCAN.
        size_bytes: Size of its files in bytes.
    """

    partition: str
    rows: int | None
    size_bytes: int | None


@dataclass(frozen=True, repr=False)
class TableStats(Display):
    """Statistics of a table, view or path; None means unknown. `print` shows them as a table.

    Attributes:
        table: The requested name.
        rows: Number of rows.
        size_bytes: Size in bytes: for a table as Spark's planner sees it, for a query the size of its rows in memory.
        source: Where the table's numbers came from, e.g. "catalog".
        confidence: How far they can be trusted.
        columns: One entry per column, in the table's order.
        partitions: After `analyze(partitions=...)`, the first of the analyzed partitions, at most 50; otherwise empty.
        groups: Groups of columns that were counted together.
        sample_rows: Rows of the sample that Dovetail drew; None if there is none.
        collected_at: When Dovetail collected the statistics, for several tables the oldest time; None for other
            sources.
        fresh: Whether the data has not changed since; None for other sources.
        unread_files: Number of files that were added or changed since.
    """

    table: str
    rows: int | None
    size_bytes: int | None
    source: str | None
    confidence: str | None
    columns: tuple[ColumnStats, ...] = ()
    partitions: tuple[PartitionStats, ...] = ()
    groups: tuple[GroupStats, ...] = ()
    sample_rows: int | None = None
    collected_at: datetime.datetime | None = None
    fresh: bool | None = None
    unread_files: int | None = None

    def __getitem__(self, column: str) -> ColumnStats:
        """Statistics of one column by name; letter case does not matter if the name is unambiguous.

        Raises:
            KeyError: No such column, or several columns whose names differ from it only in letter case.
        """
        if not isinstance(column, str):
            raise KeyError(f"the name of a column is expected, got {kind_of(column)}")
        exact = [c for c in self.columns if c.name == column]
        matches = exact or [c for c in self.columns if c.name.lower() == column.lower()]
        if len(matches) == 1:
            return matches[0]
        names = [c.name for c in matches or self.columns]
        if matches:
            raise KeyError(
                f"{self.table} has several columns that differ from '{column}' only in letter case: {listing(names)}"
            )
        raise KeyError(f"{self.table} has no column '{column}'.{did_you_mean(column, names)} Columns: {listing(names)}")

    def __iter__(self) -> Iterator[ColumnStats]:
        return iter(self.columns)

    def __contains__(self, column: object) -> bool:
        """Whether there is a column with this name, in any letter case, or these statistics of a column."""
        names = [c.name.lower() for c in self.columns]
        return column.lower() in names if isinstance(column, str) else column in self.columns

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def _blocks(self) -> list[str | Table]:
        origin = f"{self.source or 'unknown'}, {self.confidence or 'unknown'}"
        parts: list[str | Table] = [
            f"{self.table}: {_count(self.rows)} rows, {_count(self.size_bytes)} bytes ({origin})"
        ]
        if self.collected_at is not None:
            parts.append(_age(self.collected_at, self.fresh, self.unread_files, self.sample_rows))
        if self.columns:
            names = (
                "column",
                "type",
                "distinct",
                "nulls",
                "min",
                "max",
                "avg len",
                "bins",
                "source",
                "confidence",
                "frequent",
            )
            parts.append(Table(names, [_cells(column) for column in self.columns], right={2, 3, 6, 7}))
        if self.groups:
            of_groups = [(", ".join(g.columns), _count(g.distinct_count)) for g in self.groups]
            parts.append(Table(("group", "distinct"), of_groups, right={1}))
        if self.partitions:
            cells_ = [(p.partition, _count(p.rows), _count(p.size_bytes)) for p in self.partitions]
            parts.append(Table(("partition", "rows", "bytes"), cells_, right={1, 2}))
        return parts


@dataclass(frozen=True, repr=False)
class DatabaseStats(Display):
    """Statistics of the tables of a database.

    Attributes:
        database: The requested name.
        tables: One entry per table, sorted by name.
    """

    database: str
    tables: tuple[TableStats, ...]

    def __getitem__(self, table: str) -> TableStats:
        """Statistics of one table by its name without the database.

        Raises:
            KeyError: No such table.
        """
        for stats_ in self.tables:
            if stats_.table in (table, f"{self.database}.{table}"):
                return stats_
        if not isinstance(table, str):
            raise KeyError(f"the name of a table is expected, got {kind_of(table)}")
        names = [one.table for one in self.tables]
        raise KeyError(
            f"{self.database} has no statistics of '{table}'.{did_you_mean(table, names)} Tables: {listing(names)}"
        )

    def __iter__(self) -> Iterator[TableStats]:
        return iter(self.tables)

    def __contains__(self, table: object) -> bool:
        """Whether there is a table with this name, without or with the database, or these statistics of a table."""
        names = [name for one in self.tables for name in (one.table, one.table.removeprefix(f"{self.database}."))]
        return table in (names if isinstance(table, str) else self.tables)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {"database": self.database, "tables": [table.to_dict() for table in self.tables]}

    def _blocks(self) -> list[str | Table]:
        cells = [(t.table, _count(t.rows), _count(t.size_bytes), t.source, t.confidence) for t in self.tables]
        return [Table(("table", "rows", "bytes", "source", "confidence"), cells, right={1, 2})]


def _age(collected_at: datetime.datetime, fresh: bool | None, unread: int | None, sample_rows: int | None) -> str:
    changed = "files were removed since" if unread == 0 else f"{_count(unread)} files were added or changed since"
    state = "unchanged since" if fresh else f"stale: {changed}"
    sample = "no sample" if sample_rows is None else f"a sample of {sample_rows:,} rows"
    return f"collected {collected_at:%Y-%m-%d %H:%M}, {state}; {sample}"


def _plain(value: object) -> Any:
    """Times as ISO texts, and tuples as lists."""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _cells(column: ColumnStats) -> tuple[str | None, ...]:
    counts = (_distinct(column), _count(column.null_count))
    bins = None if column.histogram_bins is None else str(column.histogram_bins)
    sizes = (_count(column.avg_length), bins)
    origin = (column.source, column.confidence)
    top = ", ".join(f"{value} {count:,}" for value, count in column.top_values.items())
    counted = f"{column.top_counts}: {top}" if top and column.top_counts else top
    return (column.name, column.data_type, *counts, column.min, column.max, *sizes, *origin, counted or None)


def _distinct(column: ColumnStats) -> str:
    """The number of distinct values, with its relative standard error if it is estimated."""
    error = f" ±{column.distinct_error:.1%}" if column.distinct_error else ""
    return _count(column.distinct_count) + error


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"
