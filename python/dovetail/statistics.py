"""`stats`: the statistics of a table with their sources, as typed values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._error_text import got
from dovetail._identifiers import parse_name, quote_name
from dovetail._not_found import target_not_found
from dovetail._query import FRAME, TEXT, is_query, temporary_view, view_of_text
from dovetail._spark_errors import is_not_found
from dovetail._table_statistics import ColumnStats, DatabaseStats, GroupStats, PartitionStats, TableStats
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ColumnStats", "DatabaseStats", "GroupStats", "PartitionStats", "TableStats", "stats"]


def stats(spark: SparkSession, target: DataFrame | str) -> TableStats:
    """The statistics that Dovetail plans with, for a table or for the result of a query, each with its source.

    Args:
        spark: A session with Dovetail, classic or Connect.
        target: A table (`db.t`), a temporary view, a path (``parquet.`/data/t` ``), or a query: a DataFrame or SQL
            text. A query is planned, not run; its statistics are estimates.

    Returns:
        Rows and bytes of the table; distinct values, NULLs, bounds, lengths, histogram bins and frequent values per
        column; and groups of columns. For statistics that Dovetail collected, also the time of collection and whether
        the data has changed since.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        TargetNotFoundError: There is no such table, view or path.
        StatementError: The target is neither a name nor a query.
        pyspark.errors.AnalysisException: The query is wrong; this is Spark's own error.

    Example::

        print(dovetail.stats(spark, "tpcds.store"))
        dovetail.stats(spark, "tpcds.store")["s_store_sk"].distinct_count
    """
    with _named(spark, target) as (session, name, label):
        return _read(session, name, label)


@contextmanager
def _named(spark: SparkSession, target: DataFrame | str) -> Iterator[tuple[SparkSession, str, str]]:
    """The session, the quoted name of the target in SQL, and its name in the result."""
    if not isinstance(target, str):
        if not hasattr(target, "createOrReplaceTempView"):
            raise StatementError(f"stats takes a name, a DataFrame of Spark or the text of a query, {got(target)}")
        with temporary_view(target, "stats") as view:
            yield target.sparkSession, view, FRAME
    elif is_query(target):
        _sql.require_dovetail(spark)
        with view_of_text(spark, target, "stats") as view:
            yield spark, view, TEXT
    else:
        yield spark, quote_name(parse_name(target)), target


def _read(spark: SparkSession, name: str, target: str) -> TableStats:
    try:
        table, *others = _sql.function_rows(spark, "dovetail_stats", name)
    except Exception as error:
        if is_not_found(error):
            raise target_not_found(spark, target) from None
        raise
    return TableStats(
        table=target,
        rows=table["rows"],
        size_bytes=table["size_bytes"],
        source=table["source"],
        confidence=table["confidence"],
        columns=tuple(_column(row) for row in others if row["kind"] == "column"),
        groups=tuple(_group(row) for row in others if row["kind"] == "group"),
        sample_rows=table["sample_rows"],
        collected_at=table["collected_at"],
        fresh=table["fresh"],
        unread_files=table["unread_files"],
    )


def _group(row: Mapping[str, Any]) -> GroupStats:
    return GroupStats(tuple(row["group_columns"]), row["distinct_count"], row["collected_at"], row["fresh"])


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
        frequent_values=row["frequent_values"],
        top_values={one["value"]: one["count"] for one in row["top_values"] or ()},
        sample_rows=row["sample_rows"],
        collected_at=row["collected_at"],
        fresh=row["fresh"],
        unread_files=row["unread_files"],
        distinct_error=row["distinct_error"],
        top_counts=row["top_counts"],
    )
