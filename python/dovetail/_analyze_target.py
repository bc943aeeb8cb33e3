"""Resolves the target of `analyze`: a table, a path, a DataFrame or a database. Errors name similar targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeGuard

from dovetail import _spark_errors, _sql
from dovetail._error_text import did_you_mean, files_hint, got, listing
from dovetail._identifiers import PartitionValue, Quotes, parse_name, quote_name
from dovetail._query import FRAME, is_query, temporary_view
from dovetail.errors import (
    AnalyzeError,
    ColumnNotFoundError,
    NotAnalyzableError,
    PartitionNotFoundError,
    TargetNotFoundError,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Spark types (as DESCRIBE prints them, up to the first bracket or blank) for which ANALYZE ... FOR COLUMNS works on
# every Spark line.
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz")
ANALYZABLE_TYPES = frozenset(("boolean", *_NUMBERS, *_TIMES, "string", "char", "varchar", "binary"))

# Names of data sources that read files. They may be the first part of the name of a path.
FILE_FORMATS = ("parquet", "orc", "csv", "json", "text", "avro", "xml", "delta")


@dataclass(frozen=True)
class Table:
    """A target with columns: a table, a view, a path or a DataFrame.

    Attributes:
        parts: The parts of its SQL name; for a path, its format and the path.
        columns: Type by column name, including partition columns, in order. Empty for a path or a DataFrame, whose
            column names the session checks when it runs the statement.
        partition_columns: Names of the columns it is partitioned by, in order.
        case_sensitive: Whether the session distinguishes A and a.
        quotes: How the session's parser reads string literals.
        kind: Whether it is a table or view, files that are given by path, or a DataFrame.
        label: Its name in messages, if that differs from its parts.
    """

    parts: tuple[str, ...]
    columns: dict[str, str]
    partition_columns: tuple[str, ...]
    case_sensitive: bool = False
    quotes: Quotes = Quotes.BACKSLASH
    kind: Literal["table", "path", "frame"] = "table"
    label: str = ""

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.label or ".".join(self.parts)

    @property
    def quoted(self) -> str:
        """The name in SQL."""
        return quote_name(self.parts)

    def column(self, name: str) -> str:
        """The column's name as the table spells it.

        Raises:
            ColumnNotFoundError: The table has no such column; the message lists its columns.
        """
        if self.kind != "table":
            return name
        found = self._match(name, tuple(self.columns))
        if found is None:
            raise ColumnNotFoundError(
                f"table {self.name} has no column '{name}'.{did_you_mean(name, list(self.columns))} Columns: "
                f"{listing(self.columns)}."
            )
        return found

    def partitioned_by(self) -> tuple[str, ...]:
        """The columns it is partitioned by.

        Raises:
            PartitionNotFoundError: The table is not partitioned.
        """
        if not self.partition_columns:
            raise PartitionNotFoundError(
                f"table {self.name} is not partitioned: leave partitions out to analyze the whole table."
            )
        return self.partition_columns

    def partition(self, spec: Mapping[str, PartitionValue]) -> dict[str, PartitionValue]:
        """The values of a partition specification by partition column, with the columns spelled as in the table.

        Raises:
            PartitionNotFoundError: The specification names a column by which the table is not partitioned.
        """
        if self.kind != "table":
            return dict(spec)
        known = self.partitioned_by()
        values = {}
        for name, value in spec.items():
            column = self._match(name, known)
            if column is None:
                raise PartitionNotFoundError(
                    f"table {self.name} is not partitioned by '{name}'.{did_you_mean(name, known)} Partition columns: "
                    f"{listing(known)}."
                )
            values[column] = value
        return values

    def _match(self, name: str, names: tuple[str, ...]) -> str | None:
        """The entry of `names` that `name` refers to in this session; None if there is none."""
        if name in names:
            return name
        if self.case_sensitive:
            return None
        return next((known for known in names if known.lower() == name.lower()), None)

    def analyzable(self, column: str) -> bool:
        """Whether Spark can collect statistics for a column of this type."""
        return self.columns[column].split("(")[0].split("<")[0].split(" ")[0] in ANALYZABLE_TYPES


@dataclass(frozen=True)
class Database:
    """A database that Spark knows.

    Attributes:
        parts: The parts of its name.
        tables: Names of its tables without views, sorted.
    """

    parts: tuple[str, ...]
    tables: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name in messages."""
        return ".".join(self.parts)


def session_of(spark: SparkSession, target: str | DataFrame) -> SparkSession:
    """The session that analyzes a target: a DataFrame's own, because no other session knows a view of it."""
    return target.sparkSession if _is_frame(target) else spark


def _is_frame(target: str | DataFrame) -> TypeGuard[DataFrame]:
    return hasattr(target, "createOrReplaceTempView")


@contextmanager
def resolved(spark: SparkSession, target: str | DataFrame) -> Iterator[Table | Database]:
    """Resolves a target for the body of a `with`; the view of a DataFrame is dropped at its end.

    A name means the table or view of this name, or else the database of this name, or else, after the name of a file
    format, the files at this path. `db.*` always means the database, and a path with a slash always means files.

    Raises:
        TargetNotFoundError: Nothing has this name; the message lists similar names.
        NotAnalyzableError: A target of this kind cannot be analyzed.
    """
    if isinstance(target, str):
        if is_query(target):
            raise NotAnalyzableError(
                "analyze takes no query text. Pass a table, files or a DataFrame, or analyze the tables that the query "
                "needs: dovetail.advise(spark, sql).run(spark)."
            )
        yield _named(spark, target)
    elif _is_frame(target):
        with temporary_view(target, "analyze") as view:
            yield Table((view,), {}, (), quotes=_sql.quotes(spark), kind="frame", label=FRAME)
    else:
        raise NotAnalyzableError(
            "analyze takes a table, a view, a path (parquet.`/data`), a database or a DataFrame of Spark, "
            f"{got(target)}"
        )


def _named(spark: SparkSession, target: str) -> Table | Database:
    if target.strip().endswith(".*"):
        return database(spark, parse_name(target.strip()[:-2]))
    parts = parse_name(target)
    if len(parts) == 2 and "/" in parts[1] and "/" not in parts[0]:
        return _files(spark, parts, target)
    try:
        return table(spark, parts)
    except AnalyzeError as no_table:
        try:
            return database(spark, parts)
        except AnalyzeError:
            if len(parts) == 2 and parts[0].lower() in FILE_FORMATS and isinstance(no_table, TargetNotFoundError):
                return _files(spark, parts, target)
            raise no_table from no_table.__cause__


def _files(spark: SparkSession, parts: tuple[str, ...], target: str) -> Table:
    return Table(parts, {}, (), quotes=_sql.quotes(spark), kind="path", label=target)


def table(spark: SparkSession, parts: tuple[str, ...]) -> Table:
    """Columns and partitioning of a table.

    Raises:
        TargetNotFoundError: No table has this name.
        AnalyzeError: Spark could not describe it for another reason.
    """
    try:
        described = _sql.rows(spark, f"DESCRIBE TABLE EXTENDED {quote_name(parts)}")
    except Exception as error:
        if not _spark_errors.is_spark_error(error):
            raise
        if _spark_errors.is_not_found(error):
            raise TargetNotFoundError(_not_found(spark, parts)) from error
        raise AnalyzeError(f"Spark could not describe {'.'.join(parts)}: {_spark_errors.reason(error)}") from error
    columns: dict[str, str] = {}
    partition_columns: list[str] = []
    section = columns_section = "columns"
    for row in described:
        # a column may have such a name, but a header has no type
        if not row["col_name"] or (row["col_name"].startswith("# ") and not row["data_type"]):
            section = row["col_name"]
        elif (row["col_name"], row["data_type"]) == ("# col_name", "data_type"):
            continue
        elif section == columns_section:
            columns[row["col_name"]] = row["data_type"]
        elif section == "# Partition Information":
            partition_columns.append(row["col_name"])
    return Table(
        parts,
        columns,
        tuple(partition_columns),
        case_sensitive=_sql.is_true(spark, "spark.sql.caseSensitive"),
        quotes=_sql.quotes(spark),
    )


def database(spark: SparkSession, parts: tuple[str, ...]) -> Database:
    """Tables of a database.

    Raises:
        TargetNotFoundError: No database has this name.
        AnalyzeError: Spark could not list its tables for another reason.
    """
    try:
        tables = _tables(spark, parts)
    except Exception as error:
        if not _spark_errors.is_spark_error(error):
            raise
        if _spark_errors.is_no_database(error):
            raise TargetNotFoundError(_not_found(spark, parts)) from error
        why = _spark_errors.reason(error)
        raise AnalyzeError(f"Spark could not list the tables of {'.'.join(parts)}: {why}") from error
    try:
        shown = _sql.rows(spark, f"SHOW VIEWS IN {quote_name(parts)}")
        # Spark also shows the temporary views of the session, which are in no database
        views = {row["viewName"] for row in shown if not row["isTemporary"]}
    except Exception as error:
        if not _spark_errors.is_spark_error(error):
            raise
        # Most V2 catalogs do not support views, and SHOW VIEWS fails.
        views = set()
    return Database(parts, tuple(sorted(set(tables) - views)))


def _tables(spark: SparkSession, parts: tuple[str, ...]) -> list[str]:
    statement = f"SHOW TABLES IN {quote_name(parts)}" if parts else "SHOW TABLES"
    return [row["tableName"] for row in _sql.rows(spark, statement) if not row["isTemporary"]]


def _not_found(spark: SparkSession, parts: tuple[str, ...]) -> str:
    """The message for an unknown name, with the tables of the named database, or with the databases."""
    name = ".".join(parts)
    if "/" in name:
        return f"there is no table, view or database '{name}'.{files_hint(name)}"
    *namespace, last = parts
    try:
        tables = _tables(spark, tuple(namespace))
    except Exception as error:
        if not _spark_errors.is_spark_error(error):
            raise
        databases = [row[0] for row in _sql.rows(spark, "SHOW DATABASES")]
        hint = did_you_mean(".".join(namespace), databases)
        return (
            f"there is no table '{name}': no database '{'.'.join(namespace)}'.{hint} Databases: {listing(databases)}."
        )
    where = f"database {'.'.join(namespace)}" if namespace else "the current database"
    databases = [] if namespace else [row[0] for row in _sql.rows(spark, "SHOW DATABASES")]
    also = f" Databases: {listing(databases)}." if databases else ""
    kind = "table" if namespace else "table, view or database"
    hint = did_you_mean(last, [*tables, *databases])
    return f"there is no {kind} '{name}'.{hint} Tables of {where}: {listing(sorted(tables))}.{also}"
