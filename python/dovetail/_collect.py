"""`analyze(mode="dovetail")`: the DOVETAIL ANALYZE statements of one call, and running them.

    DOVETAIL ANALYZE TABLE t [PARTITION (p = 1)] [COLUMNS (a, b)] [GROUPS ((a, b))]
    DOVETAIL ANALYZE PATH parquet.`/data`

One statement per table, or per partition specification; the session reads the data once for each, and keeps what it
read of files that have not changed since the last time.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dovetail import _sql, _watch
from dovetail._analyze_database import every_table
from dovetail._analyze_sql import ALL, Columns, Partitions, PartitionSpec, column_names, partition_specs
from dovetail._analyze_target import Database, Table, resolve
from dovetail._identifiers import literal, parse_name, quote, quote_name
from dovetail._watch import Tell
from dovetail.errors import (
    AnalyzeError,
    DovetailWarning,
    NotAnalyzableError,
    PartitionNotFoundError,
    did_you_mean,
    listing,
)
from dovetail.progress import progress as shown_progress
from dovetail.statistics import DatabaseStats, TableStats, stats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Groups = Sequence[Sequence[str]]

# What a DataFrame is called in progress, warnings and results: it has no name of its own.
FRAME = "DataFrame"


@dataclass(frozen=True)
class Request:
    """What is to be collected, with combinations that make no sense refused.

    Attributes:
        columns: Names, or None for all columns.
        partitions: Partition specifications, or None for all partitions.
        groups: Groups of columns whose distinct combinations are counted.
    """

    columns: tuple[str, ...] | None
    partitions: tuple[PartitionSpec, ...] | None
    groups: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls, columns: Columns, partitions: Partitions, histogram: bool | None, noscan: bool, groups: Groups
    ) -> Request:
        """Checks the arguments of `analyze`.

        Raises:
            NotAnalyzableError: An argument of mode='spark', or one that is not understood.
        """
        if noscan:
            raise NotAnalyzableError(
                "noscan=True is of mode='spark'. Without reading, Dovetail knows the sizes of files anyway."
            )
        if histogram is False:
            raise NotAnalyzableError(
                "histogram=False is of mode='spark': the one pass of mode='dovetail' has quantiles at no extra cost. "
                "Set spark.dovetail.histogram.enabled=false not to use them."
            )
        names = column_names(columns)
        specs = partition_specs(partitions)
        for group in groups:
            if isinstance(group, str) or len(tuple(group)) < 2:
                raise NotAnalyzableError(
                    f"groups={groups!r} is not understood: pass a list of groups, each a list of two or more columns, "
                    "e.g. groups=[['city', 'zip']]."
                )
        chosen = None if names in (None, ALL) else tuple(names or ())
        return cls(chosen, None if specs in (None, ALL) else tuple(specs or ()), tuple(tuple(g) for g in groups))

    @property
    def restricted(self) -> bool:
        """Whether it names what one table has and another has not."""
        return bool(self.columns or self.partitions or self.groups)


def collect(
    spark: SparkSession, target: str | DataFrame, request: Request, progress: bool, callers: int
) -> TableStats | DatabaseStats:
    """Collects what the request asks for; `callers` frames up is the call of `analyze`, for warnings."""
    if not isinstance(target, str):
        with _view(target) as view:
            return replace(_one(spark, "TABLE", FRAME, view, request, progress, callers + 2), table=FRAME)
    path = None if target.strip().endswith(".*") else _path(target)
    if path is not None:
        return replace(_one(spark, "PATH", target, quote_name(path), request, progress, callers + 1), table=target)
    found = resolve(spark, target)
    if isinstance(found, Database):
        return _database(spark, found, request, progress, callers + 1)
    for column in (*(request.columns or ()), *(name for group in request.groups for name in group)):
        found.column(column)
    clauses = [""] if request.partitions is None else [_partition(found, spec) for spec in request.partitions]
    result = _one(spark, "TABLE", found.name, found.quoted, request, progress, callers + 1, clauses)
    return replace(result, table=found.name)


def _path(target: str) -> tuple[str, ...] | None:
    """Format and path, where the target is a path."""
    parts = parse_name(target)
    return parts if len(parts) == 2 and "/" in parts[1] else None


@contextmanager
def _view(frame: DataFrame) -> Iterator[str]:
    """A temporary view of the DataFrame: the name by which SQL, the only way to every session, can speak of it."""
    name = f"dovetail_analyze_{uuid.uuid4().hex}"
    try:
        frame.createOrReplaceTempView(name)
    except AttributeError:
        raise NotAnalyzableError(
            f"analyze takes a table, a view, a path (parquet.`/data`), a database or a DataFrame, not "
            f"{type(frame).__name__}."
        ) from None
    try:
        yield name
    finally:
        _sql.rows(_sql.session_of(frame), f"DROP VIEW IF EXISTS {name}")


def _one(
    spark: SparkSession,
    kind: Literal["TABLE", "PATH"],
    label: str,
    quoted: str,
    request: Request,
    progress: bool,
    callers: int,
    partitions: Sequence[str] = ("",),
) -> TableStats:
    with shown_progress("analyze", len(partitions), progress) as shown:
        for partition in partitions:
            with shown.step(f"{label} {partition}".strip()) as tell:
                _run(spark, label, statement(kind, quoted, partition, request), tell, callers + 1)
    return stats(spark, quoted)


def _database(spark: SparkSession, database: Database, request: Request, progress: bool, callers: int) -> DatabaseStats:
    if request.restricted:
        raise NotAnalyzableError(
            f"{database.name} is a database: its tables differ, so columns, partitions and groups cannot be given. "
            f"Call analyze per table. Tables: {listing(database.tables)}."
        )

    def one(name: str, tell: Tell) -> TableStats:
        quoted = quote_name((*database.parts, name))
        _run(spark, name, statement("TABLE", quoted, "", request), tell, callers + 3)
        return stats(spark, quoted)

    return every_table(database, one, progress)


def statement(kind: str, quoted: str, partition: str, request: Request) -> str:
    """`DOVETAIL ANALYZE` of one table or path, whose name and partition clause are SQL already."""
    words = [f"DOVETAIL ANALYZE {kind} {quoted}", partition]
    if request.columns is not None:
        words.append(f"COLUMNS ({_names(request.columns)})")
    if request.groups:
        words.append(f"GROUPS ({', '.join(f'({_names(group)})' for group in request.groups)})")
    return " ".join(word for word in words if word)


def _names(columns: Sequence[str]) -> str:
    return ", ".join(quote(column) for column in columns)


def _partition(table: Table, spec: PartitionSpec) -> str:
    values = []
    for name, value in spec.items():
        column = table.match(name, table.partition_columns)
        if column is None:
            raise PartitionNotFoundError(
                f"table {table.name} is not partitioned by '{name}'.{did_you_mean(name, table.partition_columns)} "
                f"Partition columns: {listing(table.partition_columns)}."
            )
        values.append(f"{quote(column)} = {literal(value, table.escapes)}")
    return f"PARTITION ({', '.join(values)})"


def _run(spark: SparkSession, label: str, statement: str, tell: Tell, callers: int) -> None:
    try:
        with _watch.statement(spark, tell):
            found = _sql.statement_rows(spark, statement)
    except Exception as error:
        if not _sql.is_spark_error(error):
            raise
        raise AnalyzeError(f"{label} could not be analyzed: {_sql.reason(error)}") from error
    for row in found:
        if row["notes"]:
            warnings.warn(f"{row['table']}: {row['notes']}", DovetailWarning, stacklevel=callers)
