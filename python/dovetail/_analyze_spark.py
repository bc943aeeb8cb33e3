"""mode="spark" of `analyze`: Spark's own ANALYZE TABLE, in every variant that Spark has.

    ANALYZE TABLE t COMPUTE STATISTICS [NOSCAN]
    ANALYZE TABLE t PARTITION (p = 1, q = 'x') COMPUTE STATISTICS [NOSCAN]
    ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, b
    ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS

Spark parses PARTITION together with FOR COLUMNS, but ignores the partition and reads the whole table. Therefore, this
combination is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dovetail import _spark_errors, _sql
from dovetail._analyze_mode import (
    ALL,
    Mode,
    PartitionSpec,
    Request,
    Statement,
    histograms_are_off,
    names,
    partition_clause,
)
from dovetail._analyze_target import Database, Table
from dovetail._error_text import did_you_mean, listing
from dovetail._identifiers import PartitionValue
from dovetail.errors import (
    AnalyzeError,
    ColumnNotFoundError,
    NotAnalyzableError,
    PartitionNotFoundError,
)
from dovetail.statistics import PartitionStats, TableStats

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

HISTOGRAM_KEY = "spark.sql.statistics.histogram.enabled"
CBO_KEY = "spark.sql.cbo.enabled"

# Largest number of partitions whose sizes are read. Each size needs one DESCRIBE (about 10 ms), and nobody reads a
# longer list.
PARTITIONS_SHOWN = 50

# How Hive and Spark write NULL in a partition's directory name.
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"

_SIZE = re.compile(r"(?P<bytes>\d+) bytes(?:, (?P<rows>\d+) rows)?")

# Spark's conditions for "this kind of target cannot be analyzed", each with what to do about it.
_UNANALYZABLE = {
    "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE": (
        "it is a table of a V2 catalog, whose statistics come from the catalog itself; Dovetail uses what it reports "
        "without any ANALYZE (see dovetail.stats)"
    ),
    "UNSUPPORTED_FEATURE.ANALYZE_VIEW": "it is a view; analyze the tables beneath it, or CACHE TABLE it first",
    "UNSUPPORTED_FEATURE.ANALYZE_UNCACHED_TEMP_VIEW": (
        "it is a temporary view that is not cached; analyze the tables beneath it, or CACHE TABLE it first"
    ),
    "EXPECT_PERMANENT_VIEW_NOT_TEMP": (
        "it is a temporary view, for which Spark collects only column statistics: CACHE TABLE it and pass "
        "columns='all', or analyze the tables beneath it"
    ),
}
# The same condition on Spark 3.5, which has no proper name for it.
_UNANALYZABLE["_LEGACY_ERROR_TEMP_1016"] = _UNANALYZABLE["EXPECT_PERMANENT_VIEW_NOT_TEMP"]


class SparkAnalyze(Mode):
    """The mode that runs Spark's ANALYZE TABLE."""

    def check(self, request: Request) -> None:
        if request.groups:
            raise NotAnalyzableError("Spark's ANALYZE cannot count groups of columns. Leave out mode='spark'.")
        if request.columns is not None and request.partitions is not None:
            raise NotAnalyzableError(
                "columns and partitions cannot go together: Spark has no column statistics per partition. It would "
                "ignore the partitions and read the whole table. Call analyze(columns=...) for the columns of the "
                "whole table, and analyze(partitions=...) for rows and bytes of partitions."
            )
        if request.columns is not None and request.noscan:
            raise NotAnalyzableError(
                "noscan and columns cannot go together: column statistics need a scan. Leave one of them out."
            )
        if request.histogram and request.columns is None:
            raise NotAnalyzableError(
                "histogram=True needs columns: histograms are kept per column. Add columns='all' or a list of names."
            )
        specs = request.partitions
        if isinstance(specs, tuple) and not request.noscan and any(None in spec.values() for spec in specs):
            raise NotAnalyzableError(
                "a NULL partition cannot be analyzed by its value: Spark stores its bytes, but does not count its "
                "rows. Pass partitions='all' (or only the columns before it), or add noscan=True if bytes are enough."
            )

    def refuse(self, target: Table | Database, request: Request) -> None:
        if isinstance(target, Database):
            if request.partitions is not None or isinstance(request.columns, tuple):
                raise NotAnalyzableError(
                    f"{target.name} is a database: its tables differ, so columns takes only 'all' there, and "
                    f"partitions nothing. Call analyze per table. Tables: {listing(target.tables)}."
                )
        elif target.kind == "path":
            raise NotAnalyzableError(
                f"'{target.name}' is a path, and Spark's ANALYZE keeps statistics in the catalog, where paths have no "
                f"place. Make a table: CREATE TABLE name USING {target.parts[0]} LOCATION '{target.parts[1]}', then "
                "analyze(spark, 'name')."
            )
        elif target.kind == "frame":
            raise NotAnalyzableError(
                f"analyze(mode='spark') takes the name of a table or database, got {target.name}. Spark's ANALYZE "
                "keeps statistics in the catalog, so they need a table: df.write.saveAsTable('db.name'), then "
                "analyze(spark, 'db.name')."
            )

    def settings(self, spark: SparkSession, request: Request) -> dict[str, str]:
        wanted = False if request.histogram is None and histograms_are_off(spark) else request.histogram
        return {} if wanted is None else {HISTOGRAM_KEY: "true" if wanted else "false"}

    def statements(self, table: Table, request: Request) -> tuple[Statement, ...]:
        if request.columns is not None:
            return (_all_columns(table) if request.columns == ALL else _named_columns(table, request.columns),)
        if request.partitions is None:
            return (_sizes(table, "", request.noscan),)
        if request.partitions == ALL:
            return (_sizes(table, f"PARTITION ({names(table.partitioned_by())})", request.noscan),)
        return tuple(_sizes(table, _prefix(table, spec), request.noscan, spec) for spec in request.partitions)

    def failure(self, spark: SparkSession, table: Table, statement: Statement, error: Exception) -> AnalyzeError:
        condition = _spark_errors.condition(error)
        if condition in _UNANALYZABLE:
            return NotAnalyzableError(f"Spark's ANALYZE cannot be used on {table.name}: {_UNANALYZABLE[condition]}.")
        if condition == "PARTITIONS_NOT_FOUND":
            known = _partitions_of(spark, table)
            hint = did_you_mean("/".join(f"{k}={v}" for k, v in (statement.spec or {}).items()), known)
            wanted = statement.label.removeprefix(table.name).strip()
            return PartitionNotFoundError(f"table {table.name} has no {wanted}.{hint} Partitions: {listing(known)}.")
        return AnalyzeError(
            f"Spark could not analyze {table.name}: {_spark_errors.reason(error)} The statement was: {statement.sql}"
        )

    def notes(self, spark: SparkSession, table: Table, request: Request, answers: Sequence[Row]) -> list[str]:
        found = []
        skipped = [c for c in table.columns if request.columns == ALL and not table.analyzable(c)]
        if skipped:
            found.append(f"Spark has no statistics for {_typed(table, skipped)}; the other columns are analyzed.")
        if _sql.is_true(spark, CBO_KEY):
            found += _misled(spark, table, request)
        return [f"{table.name}: {text}" for text in found]

    def known(self, spark: SparkSession, table: Table, request: Request) -> TableStats:
        result = super().known(spark, table, request)
        if request.partitions is None:
            return result
        clauses = [""] if request.partitions == ALL else [_prefix(table, spec) for spec in request.partitions]
        return replace(result, partitions=partition_sizes(spark, table, clauses))


def partition_sizes(spark: SparkSession, table: Table, clauses: Sequence[str]) -> tuple[PartitionStats, ...]:
    """Stored sizes of the partitions that the PARTITION clauses select, at most `PARTITIONS_SHOWN` of them."""
    found = dict.fromkeys(name for clause in clauses for name in _partitions_of(spark, table, clause))
    return tuple(_size(spark, table, name) for name in list(found)[:PARTITIONS_SHOWN])


def _sizes(table: Table, partition: str, noscan: bool, spec: PartitionSpec | None = None) -> Statement:
    words = ["ANALYZE TABLE", table.quoted, partition, "COMPUTE STATISTICS", "NOSCAN" if noscan else ""]
    return Statement(" ".join(word for word in words if word), f"{table.name} {partition}".strip(), spec)


def _all_columns(table: Table) -> Statement:
    """FOR ALL COLUMNS, or a list of columns if the table has others for whose types Spark fails the whole statement."""
    columns = [column for column in table.columns if table.analyzable(column)]
    if not columns:
        raise ColumnNotFoundError(
            f"Spark has no statistics for any column of {table.name}: {_typed(table, table.columns)}."
        )
    if len(columns) == len(table.columns):
        return _of_columns(table, "FOR ALL COLUMNS", len(columns))
    return _of_columns(table, f"FOR COLUMNS {names(columns)}", len(columns))


def _named_columns(table: Table, wanted: Sequence[str]) -> Statement:
    columns = dict.fromkeys(table.column(name) for name in wanted)
    unsupported = [column for column in columns if not table.analyzable(column)]
    if unsupported:
        raise ColumnNotFoundError(
            f"Spark has no statistics for columns of these types: {_typed(table, unsupported)}. "
            f"Columns of {table.name} that can be analyzed: {listing(c for c in table.columns if table.analyzable(c))}."
        )
    return _of_columns(table, f"FOR COLUMNS {names(columns)}", len(columns))


def _of_columns(table: Table, clause: str, number: int) -> Statement:
    return Statement(f"ANALYZE TABLE {table.quoted} COMPUTE STATISTICS {clause}", f"{table.name}, {number} columns")


def _prefix(table: Table, spec: PartitionSpec) -> str:
    """The PARTITION (...) clause of one specification, in the table's order.

    Raises:
        PartitionNotFoundError: A name is not a partition column, or an earlier partition column has no value (Spark
            accepts only prefixes).
    """
    values = table.partition(spec)
    known = table.partitioned_by()
    prefix = known[: len(values)]
    if set(prefix) != set(values):
        raise PartitionNotFoundError(
            f"Spark takes partition values from the first partition column on, without a gap: {table.name} is "
            f"partitioned by {listing(known)}, so values for {listing(sorted(values))} alone cannot be given. Give "
            f"also {listing(c for c in prefix if c not in values)}."
        )
    return partition_clause({column: values[column] for column in prefix}, table.quotes)


def _misled(spark: SparkSession, table: Table, request: Request) -> Iterator[str]:
    """Warnings about statistics of this call that mislead Spark's own cost-based optimizer, which is on."""
    if request.noscan and not spark.version.startswith("3."):
        yield (
            f"with {CBO_KEY}=true, NOSCAN misleads Spark's own estimator: Spark 4 stores 0 rows for a table "
            f"without statistics. Leave noscan out, or set {CBO_KEY}=false; Dovetail does not need it."
        )
    wanted = table.columns if request.columns == ALL else map(table.column, request.columns or ())
    timestamps = [column for column in wanted if table.columns[column].startswith("timestamp_ntz")]
    if timestamps:
        yield (
            f"with {CBO_KEY}=true, Spark's own estimator fails (MatchError: TimestampNTZType) on queries that "
            f"filter an analyzed TIMESTAMP_NTZ column: {listing(timestamps)}. Name the other columns, or set "
            f"{CBO_KEY}=false; Dovetail does not need it."
        )


def _partitions_of(spark: SparkSession, table: Table, clause: str = "") -> list[str]:
    """Names of a table's partitions, such as "year=2024/month=1"; `clause`, PARTITION (...), selects some of them."""
    return [row[0] for row in _sql.rows(spark, f"SHOW PARTITIONS {table.quoted} {clause}")]


def _size(spark: SparkSession, table: Table, name: str) -> PartitionStats:
    clause = partition_clause(dict(_values(name)), table.quotes)
    for row in _sql.rows(spark, f"DESCRIBE TABLE EXTENDED {table.quoted} {clause}"):
        match = _SIZE.match(row["data_type"] or "") if row["col_name"] == "Partition Statistics" else None
        if match:
            return PartitionStats(name, int(match["rows"]) if match["rows"] else None, int(match["bytes"]))
    return PartitionStats(name, None, None)


def _values(name: str) -> Iterator[tuple[str, PartitionValue]]:
    """Column and value of each level of a partition's name, in which special characters are written as %XX."""
    for level in name.split("/"):
        column, _, value = level.partition("=")
        yield unquote(column), None if value == NULL_PARTITION else unquote(value)


def _typed(table: Table, columns: Sequence[str] | dict[str, str]) -> str:
    return listing(f"{column} ({table.columns[column]})" for column in columns)
