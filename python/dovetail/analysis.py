"""`analyze`: collects statistics, with Dovetail's one pass or with Spark's own ANALYZE, and returns what is known then.

Dovetail's is in _collect.py. The flow of Spark's, every variant of it: check how the arguments go together
(_analyze_sql.Request) → what is the target (_analyze_target.resolve) → the statements (_analyze_sql.plan) → run them
with progress, histograms switched for the call only → `stats`.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from dovetail import _sql, _watch
from dovetail._analyze_database import every_table
from dovetail._analyze_sql import Columns, Partitions, Plan, Request, Statement, plan
from dovetail._analyze_target import Database, Table, resolve, table
from dovetail._collect import Groups, collect
from dovetail._collect import Request as CollectRequest
from dovetail._partitions import partition_stats, partitions_of
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

HISTOGRAM_KEY = "spark.sql.statistics.histogram.enabled"
CBO_KEY = "spark.sql.cbo.enabled"

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
        "it is a temporary view, of which Spark analyzes columns only: CACHE TABLE it and pass columns='all', "
        "or analyze the tables beneath it"
    ),
}
# The same condition on Spark 3.5, which had no name for it yet.
_UNANALYZABLE["_LEGACY_ERROR_TEMP_1016"] = _UNANALYZABLE["EXPECT_PERMANENT_VIEW_NOT_TEMP"]


def analyze(
    spark: SparkSession,
    target: str | DataFrame,
    columns: Columns = None,
    partitions: Partitions = None,
    histogram: bool | None = None,
    mode: str = "dovetail",
    progress: bool = True,
    *,
    groups: Groups = (),
    noscan: bool = False,
) -> TableStats | DatabaseStats:
    """Collects statistics of a table, a view's tables, files, a DataFrame's files, or every table of a database.

    By default one pass over the data collects everything of all columns, Dovetail keeps it per file (see
    `spark.dovetail.store.path`), and the next call reads only files that are new or changed. Interrupting it (Ctrl-C)
    cancels its job and leaves what was known before.

    Args:
        spark: A session with Dovetail, classic or Connect.
        target: A table (`db.t`, `catalog.db.t`; backticks around parts that hold dots), a view, files
            (``parquet.`/data/t` ``), a DataFrame, or a database (`db`, or `db.*` where a table has that name too).
            mode="spark" takes tables and databases.
        columns: Names of columns, or "all". None is all columns; with mode="spark" it is none of them, and rows and
            bytes only. A `DovetailWarning` names columns of types without statistics.
        partitions: `{"year": 2024}` (all partitions beneath it), a list of such, or "all". None as a value is the NULL
            partition. With mode="spark", rows and bytes of these partitions, and not together with columns.
        histogram: For mode="spark": True builds an equi-height histogram per column (a second scan of the data), False
            builds none; None leaves it to `spark.sql.statistics.histogram.enabled`, which is put back after the call.
            mode="dovetail" always has quantiles.
        mode: "dovetail", or "spark" for Spark's ANALYZE TABLE.
        progress: Shows progress on stderr: a bar with rich in a terminal or notebook, else one line per table.
        groups: Groups of columns whose distinct combinations are counted as well, those of joins on several columns:
            `[["item_id", "ticket"]]`. Not with mode="spark".
        noscan: For mode="spark": only bytes, from the file system; the data is not read. For a table without statistics
            Spark 4 stores 0 rows along with them, which Dovetail reads as unknown, but Spark's own CBO takes for true.

    Returns:
        What is known afterwards: `TableStats` for a table, `DatabaseStats` for a database.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        TargetNotFoundError: No such table or database.
        ColumnNotFoundError: No such column, or none that Spark has statistics for.
        PartitionNotFoundError: No such partition or partition column.
        NotAnalyzableError: This kind of target or this combination of arguments cannot be analyzed.
        AnalyzeIncompleteError: Some tables of a database failed; the statistics of the others are in its `done`.
        AnalyzeError: Spark failed for another reason, which is the error's cause.

    Example::

        dovetail.analyze(spark, "tpcds.store_sales", groups=[["ss_item_sk", "ss_ticket_number"]])
        dovetail.analyze(spark, "sales", partitions={"year": 2024})
        dovetail.analyze(spark, "parquet.`/data/sales`")
        dovetail.analyze(spark, "tpcds")  # every table of a database
        dovetail.analyze(spark, "tpcds.store_sales", columns="all", histogram=True, mode="spark")
    """
    if mode == "dovetail":
        wanted = CollectRequest.of(columns, partitions, histogram, noscan, groups)
        _sql.require_dovetail(spark)
        return collect(spark, target, wanted, progress, callers=3)
    if mode != "spark":
        raise NotAnalyzableError(
            f"there is no mode '{mode}'. Allowed: 'dovetail' (one pass, kept by Dovetail) and 'spark' (Spark's ANALYZE "
            "TABLE)."
        )
    if groups:
        raise NotAnalyzableError("groups are not known to Spark's ANALYZE. Leave out mode='spark'.")
    request = Request.of(columns, partitions, histogram, noscan)
    _sql.require_dovetail(spark)
    found = resolve(spark, target)
    with _histograms(spark, histogram):
        if isinstance(found, Database):
            return _analyze_database(spark, found, request, progress)
        todo = plan(found, request)
        _warn(spark, found, request, todo, callers=3)
        with shown_progress("analyze", len(todo.statements), progress) as shown:
            for statement in todo.statements:
                with shown.step(statement.label) as tell:
                    _run(spark, found, request, statement, tell)
    result = replace(stats(spark, found.quoted), table=found.name)
    if request.partitions is None:
        return result
    return replace(result, partitions=partition_stats(spark, found, request.partitions))


def _analyze_database(spark: SparkSession, database: Database, request: Request, progress: bool) -> DatabaseStats:
    if request.partitions is not None or isinstance(request.columns, tuple):
        raise NotAnalyzableError(
            f"{database.name} is a database: its tables differ, so columns takes only 'all' there, and partitions "
            f"nothing. Call analyze per table. Tables: {listing(database.tables)}."
        )

    def one(name: str, tell: Tell) -> TableStats:
        found = table(spark, (*database.parts, name))
        todo = plan(found, request)
        _warn(spark, found, request, todo, callers=6)
        for statement in todo.statements:
            _run(spark, found, request, statement, tell)
        return stats(spark, found.quoted)

    return every_table(database, one, progress)


def _run(spark: SparkSession, target: Table, request: Request, statement: Statement, tell: Tell) -> None:
    try:
        with _watch.statement(spark, tell):
            _sql.rows(spark, statement.sql)
    except Exception as error:
        if not _sql.is_spark_error(error):
            raise
        condition = _sql.condition(error)
        if condition in _UNANALYZABLE:
            raise NotAnalyzableError(
                f"Spark's ANALYZE cannot be used on {target.name}: {_UNANALYZABLE[condition]}."
            ) from error
        if condition == "PARTITIONS_NOT_FOUND":
            known = partitions_of(spark, target)
            wanted = statement.label.removeprefix(target.name).strip()
            hint = did_you_mean("/".join(f"{k}={v}" for k, v in _first_spec(request).items()), known)
            raise PartitionNotFoundError(
                f"table {target.name} has no {wanted}.{hint} Partitions: {listing(known)}."
            ) from error
        reason = _sql.reason(error)
        raise AnalyzeError(
            f"Spark could not analyze {target.name}: {reason} The statement was: {statement.sql}"
        ) from error


def _first_spec(request: Request) -> dict[str, object]:
    return dict(request.partitions[0]) if isinstance(request.partitions, tuple) else {}


def _histograms(spark: SparkSession, histogram: bool | None) -> AbstractContextManager[None]:
    if histogram is None:
        return nullcontext()
    return _sql.settings(spark, {HISTOGRAM_KEY: "true" if histogram else "false"})


def _warn(spark: SparkSession, target: Table, request: Request, todo: Plan, callers: int) -> None:
    """Warns of what will be less than asked for; `callers` frames up is the call of analyze()."""
    found = []
    if todo.skipped:
        types = listing(f"{column} ({target.columns[column]})" for column in todo.skipped)
        found.append(f"Spark has no statistics for {types}; the other columns are analyzed.")
    timestamps = [column for column in todo.columns if target.columns[column].startswith("timestamp_ntz")]
    if _sql.setting(spark, CBO_KEY) == "true":
        if request.noscan and not spark.version.startswith("3."):
            found.append(
                f"with {CBO_KEY}=true, NOSCAN misleads Spark's own estimator: Spark 4 stores 0 rows for a table "
                f"without statistics. Leave noscan out, or set {CBO_KEY}=false; Dovetail does not need it."
            )
        if timestamps:
            found.append(
                f"with {CBO_KEY}=true, Spark's own estimator fails (MatchError: TimestampNTZType) on queries that "
                f"filter an analyzed TIMESTAMP_NTZ column: {listing(timestamps)}. Name the other columns, or set "
                f"{CBO_KEY}=false; Dovetail does not need it."
            )
    for text in found:
        warnings.warn(f"{target.name}: {text}", DovetailWarning, stacklevel=callers)
