"""`stats`: what is known about a table, and from where, as typed values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._identifiers import parse_name, quote_name
from dovetail._table_text import table_text
from dovetail.errors import TargetNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ColumnStats:
    """What is known about one column; None is unknown.

    Attributes:
        name: The column's name.
        data_type: Its Spark type, "int" or "decimal(7,2)".
        distinct_count: Number of distinct values, NULL not counted; an estimate (Spark's is within 5 %, as by default).
        null_count: Number of NULLs.
        min: Smallest value as text; Spark keeps none for strings.
        max: Largest value as text.
        avg_length: Average size of a value in bytes.
        max_length: Size of the longest value in bytes.
        histogram_bins: Number of bins of the equi-height histogram, None where there is no histogram.
        source: Where the numbers came from, e.g. "catalog".
        confidence: How far they can be trusted, e.g. "exact".
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


@dataclass(frozen=True)
class PartitionStats:
    """Size of one partition as ANALYZE TABLE ... PARTITION stored it; None is unknown.

    Attributes:
        partition: The partition as SHOW PARTITIONS has it, "year=2024/month=1".
        rows: Number of rows, None after NOSCAN.
        size_bytes: Size of its files in bytes.
    """

    partition: str
    rows: int | None
    size_bytes: int | None


@dataclass(frozen=True)
class TableStats:
    """What is known about a table, view or path; None is unknown. `print` shows it as a table.

    Attributes:
        table: The name asked for.
        rows: Number of rows.
        size_bytes: Size in bytes, as Spark's planner sees it.
        source: Where the table's numbers came from, e.g. "catalog".
        confidence: How far they can be trusted.
        columns: One entry per column, in the table's order.
        partitions: After `analyze(partitions=...)` the partitions analyzed (the first of them); else empty.
    """

    table: str
    rows: int | None
    size_bytes: int | None
    source: str | None
    confidence: str | None
    columns: tuple[ColumnStats, ...] = ()
    partitions: tuple[PartitionStats, ...] = ()

    def __getitem__(self, column: str) -> ColumnStats:
        """Statistics of one column by name, case-insensitively where that is unambiguous.

        Raises:
            KeyError: No such column.
        """
        exact = [c for c in self.columns if c.name == column]
        matches = exact or [c for c in self.columns if c.name.lower() == column.lower()]
        if len(matches) != 1:
            raise KeyError(f"{self.table} has no column '{column}'. Columns: {', '.join(c.name for c in self.columns)}")
        return matches[0]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {
            **asdict(self),
            "columns": [asdict(c) for c in self.columns],
            "partitions": [asdict(p) for p in self.partitions],
        }

    def __str__(self) -> str:
        origin = f"{self.source or 'unknown'}, {self.confidence or 'unknown'}"
        parts = [f"{self.table}: {_count(self.rows)} rows, {_count(self.size_bytes)} bytes ({origin})"]
        if self.columns:
            names = ("column", "type", "distinct", "nulls", "min", "max", "avg len", "bins", "source", "confidence")
            parts.append(table_text(names, [_cells(column) for column in self.columns], right={2, 3, 6, 7}))
        if self.partitions:
            cells_ = [(p.partition, _count(p.rows), _count(p.size_bytes)) for p in self.partitions]
            parts.append(table_text(("partition", "rows", "bytes"), cells_, right={1, 2}))
        return "\n".join(parts)


@dataclass(frozen=True)
class DatabaseStats:
    """Statistics of the tables of a database.

    Attributes:
        database: The name asked for.
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
        raise KeyError(
            f"{self.database} has no statistics of '{table}'. Tables: {', '.join(t.table for t in self.tables)}"
        )

    def __iter__(self) -> Iterator[TableStats]:
        return iter(self.tables)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {"database": self.database, "tables": [table.to_dict() for table in self.tables]}

    def __str__(self) -> str:
        cells = [(t.table, _count(t.rows), _count(t.size_bytes), t.source, t.confidence) for t in self.tables]
        return table_text(("table", "rows", "bytes", "source", "confidence"), cells, right={1, 2})


def stats(spark: SparkSession, target: str) -> TableStats:
    """What Dovetail would plan with: the statistics known about a table, each with its source.

    Args:
        spark: A session with Dovetail, classic or Connect.
        target: A table (`db.t`), a temporary view, or a path (``parquet.`/data/t` ``).

    Returns:
        Rows and bytes of the table, and per column distinct values, NULLs, bounds, lengths and histogram bins.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        TargetNotFoundError: There is no such table, view or path.
        StatementError: This is no name at all.

    Example::

        print(dovetail.stats(spark, "tpcds.store"))
        dovetail.stats(spark, "tpcds.store")["s_store_sk"].distinct_count
    """
    try:
        table, *columns = _sql.function_rows(spark, "dovetail_stats", quote_name(parse_name(target)))
    except Exception as error:
        if _sql.is_spark_error(error) and _sql.condition(error).startswith(
            ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND")
        ):
            raise TargetNotFoundError(
                f"there is no table, view or path '{target}'. Expected db.table, a temporary view, or a path such as "
                "parquet.`/data/sales`; SHOW TABLES lists the tables of the current database."
            ) from error
        raise
    return TableStats(
        table=target,
        rows=table["rows"],
        size_bytes=table["size_bytes"],
        source=table["source"],
        confidence=table["confidence"],
        columns=tuple(_column(row) for row in columns),
    )


def _column(row: Mapping[str, Any]) -> ColumnStats:
    return ColumnStats(
        name=row["column"],
        data_type=row["data_type"],
        distinct_count=row["distinct_count"],
        null_count=row["null_count"],
        min=row["min"],
        max=row["max"],
        avg_length=row["avg_length"],
        max_length=row["max_length"],
        histogram_bins=row["histogram_bins"],
        source=row["source"],
        confidence=row["confidence"],
    )


def _cells(column: ColumnStats) -> tuple[str | None, ...]:
    counts = (_count(column.distinct_count), _count(column.null_count))
    bins = None if column.histogram_bins is None else str(column.histogram_bins)
    sizes = (_count(column.avg_length), bins)
    return (column.name, column.data_type, *counts, column.min, column.max, *sizes, column.source, column.confidence)


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"
