"""What the target of `analyze` is: a table with its columns, or a database with its tables; else what is near it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail import _sql
from dovetail._identifiers import parse_name, quote_name
from dovetail.errors import (
    AnalyzeError,
    ColumnNotFoundError,
    NotAnalyzableError,
    TargetNotFoundError,
    did_you_mean,
    listing,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark types (as DESCRIBE prints them, up to the first bracket or blank) for which ANALYZE ... FOR COLUMNS works on
# every Spark line.
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz")
ANALYZABLE_TYPES = frozenset(("boolean", *_NUMBERS, *_TIMES, "string", "char", "varchar", "binary"))

# Spark's conditions for "there is no such table", whichever part of its name is wrong.
NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")


@dataclass(frozen=True)
class Table:
    """A table or view that Spark knows.

    Attributes:
        parts: Its name, part by part, as the user gave it.
        columns: Type by column name, partition columns included, in order.
        partition_columns: Names of the columns it is partitioned by, in order.
        case_sensitive: Whether the session tells A from a.
        escapes: Whether the session's parser knows backslash escapes in string literals.
    """

    parts: tuple[str, ...]
    columns: dict[str, str]
    partition_columns: tuple[str, ...]
    case_sensitive: bool = False
    escapes: bool = True

    @property
    def name(self) -> str:
        """The name for people."""
        return ".".join(self.parts)

    @property
    def quoted(self) -> str:
        """The name for SQL."""
        return quote_name(self.parts)

    def column(self, name: str) -> str:
        """The column's name as the table has it.

        Raises:
            ColumnNotFoundError: No such column; the message lists those there are.
        """
        found = self.match(name, tuple(self.columns))
        if found is None:
            raise ColumnNotFoundError(
                f"table {self.name} has no column '{name}'.{did_you_mean(name, list(self.columns))} Columns: "
                f"{listing(self.columns)}."
            )
        return found

    def match(self, name: str, names: tuple[str, ...]) -> str | None:
        """The one of `names` that `name` means in this session, None where none is meant."""
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
        parts: Its name, part by part.
        tables: Names of its tables, views left out, sorted.
    """

    parts: tuple[str, ...]
    tables: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name for people."""
        return ".".join(self.parts)


def resolve(spark: SparkSession, target: object) -> Table | Database:
    """The table or view of this name, else the database of this name; `db.*` is always the database.

    Raises:
        TargetNotFoundError: Neither exists; the message names near matches.
        NotAnalyzableError: The target is a DataFrame or a path, which Spark's ANALYZE does not take.
    """
    if not isinstance(target, str):
        raise NotAnalyzableError(
            f"analyze(mode='spark') takes the name of a table or database, got {type(target).__name__}. Spark's "
            "ANALYZE keeps statistics in the catalog, so they need a table: df.write.saveAsTable('db.name'), then "
            "analyze(spark, 'db.name')."
        )
    if target.strip().endswith(".*"):
        return database(spark, parse_name(target.strip()[:-2]))
    parts = parse_name(target)
    if len(parts) == 2 and "/" in parts[1]:
        raise NotAnalyzableError(
            f"'{target}' is a path, and Spark's ANALYZE keeps statistics in the catalog, where paths have no place. "
            f"Make a table: CREATE TABLE name USING {parts[0]} LOCATION '{parts[1]}', then analyze(spark, 'name')."
        )
    if len(parts) == 1 and _is_database_only(spark, parts[0]):
        return database(spark, parts)
    try:
        return table(spark, parts)
    except AnalyzeError as no_table:
        try:
            return database(spark, parts)
        except TargetNotFoundError:
            raise no_table from no_table.__cause__


def _is_database_only(spark: SparkSession, name: str) -> bool:
    """Whether a database has this name, and no table or view. Asked first: pyspark logs each statement that fails."""
    if name.lower() not in (row[0].lower() for row in _sql.rows(spark, "SHOW DATABASES")):
        return False
    return name.lower() not in (row["tableName"].lower() for row in _sql.rows(spark, "SHOW TABLES"))


def table(spark: SparkSession, parts: tuple[str, ...]) -> Table:
    """Columns and partitioning of a table.

    Raises:
        TargetNotFoundError: There is none of this name.
        AnalyzeError: Spark could not describe it for another reason.
    """
    try:
        described = _sql.rows(spark, f"DESCRIBE TABLE EXTENDED {quote_name(parts)}")
    except Exception as error:
        if not _sql.is_spark_error(error):
            raise
        if _sql.condition(error).startswith(NOT_FOUND):
            raise TargetNotFoundError(_not_found(spark, parts)) from error
        raise AnalyzeError(f"Spark could not describe {'.'.join(parts)}: {_sql.reason(error)}") from error
    columns: dict[str, str] = {}
    partition_columns: list[str] = []
    section = columns_section = "columns"
    for row in described:
        if not row["col_name"] or row["col_name"].startswith("# "):
            section = row["col_name"] if row["col_name"] != "# col_name" else section
        elif section == columns_section:
            columns[row["col_name"]] = row["data_type"]
        elif section == "# Partition Information":
            partition_columns.append(row["col_name"])
    return Table(
        parts,
        columns,
        tuple(partition_columns),
        case_sensitive=_sql.setting(spark, "spark.sql.caseSensitive") == "true",
        escapes=_sql.escapes(spark),
    )


def database(spark: SparkSession, parts: tuple[str, ...]) -> Database:
    """Tables of a database.

    Raises:
        TargetNotFoundError: There is none of this name.
    """
    try:
        tables = _tables(spark, parts)
    except Exception as error:
        if not _sql.is_spark_error(error):
            raise
        raise TargetNotFoundError(_not_found(spark, parts)) from error
    try:
        views = {row["viewName"] for row in _sql.rows(spark, f"SHOW VIEWS IN {quote_name(parts)}")}
    except Exception as error:
        if not _sql.is_spark_error(error):
            raise
        # Most V2 catalogs have no views to show.
        views = set()
    return Database(parts, tuple(sorted(set(tables) - views)))


def _tables(spark: SparkSession, parts: tuple[str, ...]) -> list[str]:
    statement = f"SHOW TABLES IN {quote_name(parts)}" if parts else "SHOW TABLES"
    return [row["tableName"] for row in _sql.rows(spark, statement) if not row["isTemporary"]]


def _not_found(spark: SparkSession, parts: tuple[str, ...]) -> str:
    """Says what there is instead: the tables of the database that was named, or the databases."""
    name = ".".join(parts)
    *namespace, last = parts
    try:
        tables = _tables(spark, tuple(namespace))
    except Exception as error:
        if not _sql.is_spark_error(error):
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
    if "/" in name:
        hint = " Files are named with their format: parquet.`/data/sales`."
    return f"there is no {kind} '{name}'.{hint} Tables of {where}: {listing(sorted(tables))}.{also}"
