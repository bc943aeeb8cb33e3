"""mode="dovetail" of `analyze`: one pass over the data. Dovetail stores the results per file.

    DOVETAIL ANALYZE TABLE t [PARTITION (p = 1)] [COLUMNS (a, b)] [GROUPS ((a, b))]
    DOVETAIL ANALYZE PATH parquet.`/data` ...

There is one statement per table or partition specification. Statistics of unchanged files are kept, and these
files are not read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail import _spark_errors
from dovetail._analyze_mode import TOGGLE_KEY, Mode, Request, Statement, names, partition_clause
from dovetail._analyze_target import FILE_FORMATS, Database, Table
from dovetail._error_text import did_you_mean, listing
from dovetail.errors import AnalyzeError, NotAnalyzableError, TargetNotFoundError

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


class DovetailPass(Mode):
    """The mode that runs DOVETAIL ANALYZE."""

    def check(self, request: Request) -> None:
        if request.noscan:
            raise NotAnalyzableError(
                "noscan=True works only with mode='spark'. Dovetail knows the sizes of files without a scan."
            )

    def settings(self, spark: SparkSession, request: Request) -> dict[str, str]:
        return {} if request.histogram is None else {TOGGLE_KEY: str(request.histogram).lower()}

    def refuse(self, target: Table | Database, request: Request) -> None:
        restricted = isinstance(request.columns, tuple) or isinstance(request.partitions, tuple) or request.groups
        if isinstance(target, Database) and restricted:
            raise NotAnalyzableError(
                f"{target.name} is a database: its tables differ, so columns, partitions and groups cannot be given. "
                f"Call analyze per table. Tables: {listing(target.tables)}."
            )

    def statements(self, table: Table, request: Request) -> tuple[Statement, ...]:
        columns = request.columns if isinstance(request.columns, tuple) else None
        for column in (*(columns or ()), *(name for group in request.groups for name in group)):
            table.column(column)
        kind = "PATH" if table.kind == "path" else "TABLE"
        specs = request.partitions if isinstance(request.partitions, tuple) else (None,)
        found = []
        for spec in specs:
            partition = "" if spec is None else partition_clause(table.partition(spec), table.quotes)
            sql = analyze_statement(kind, table.quoted, partition, columns, request.groups)
            found.append(Statement(sql, f"{table.name} {partition}".strip(), spec))
        return tuple(found)

    def failure(self, spark: SparkSession, table: Table, statement: Statement, error: Exception) -> AnalyzeError:
        if table.kind == "path":
            return _of_files(table, error)
        return AnalyzeError(f"{table.name} could not be analyzed: {_spark_errors.reason(error)}")

    def notes(self, spark: SparkSession, table: Table, request: Request, answers: Sequence[Row]) -> list[str]:
        return [f"{row['table']}: {row['notes']}" for row in answers if row["notes"]]


def _of_files(table: Table, error: Exception) -> AnalyzeError:
    """The error for files that were given by path. Spark's own does not always name the path."""
    data_format, path = table.parts
    formats = f"Formats: {listing(FILE_FORMATS)}."
    if _spark_errors.is_no_path(error):
        return TargetNotFoundError(
            f"there are no files at '{path}': the path does not exist. {table.name} must name a file or a directory "
            "that the session can read, with its scheme (s3a://, hdfs://, file:///) if it is not in the default file "
            "system."
        )
    if _spark_errors.is_not_found(error):
        return TargetNotFoundError(
            f"there is no file format '{data_format}'.{did_you_mean(data_format, FILE_FORMATS)} {formats}"
        )
    if _spark_errors.is_unreadable(error):
        why = f"Spark finds no {data_format} data at this path"
    else:
        why = _spark_errors.reason(error).removesuffix(".")
    return AnalyzeError(
        f"{table.name} could not be analyzed: {why}. If its files have another format, name that one in place of "
        f"{data_format}. {formats}"
    )


def analyze_statement(
    kind: str,
    quoted: str,
    partition: str = "",
    columns: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
) -> str:
    """The statement `DOVETAIL ANALYZE` for one table or path. The name and the partition clause are passed as SQL."""
    words = [f"DOVETAIL ANALYZE {kind} {quoted}", partition]
    if columns is not None:
        words.append(f"COLUMNS ({names(columns)})")
    if groups:
        words.append(f"GROUPS ({', '.join(f'({names(group)})' for group in groups)})")
    return " ".join(word for word in words if word)
