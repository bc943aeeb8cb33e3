"""`analyze`: collects statistics with Dovetail's pass or with Spark's own ANALYZE, and returns them.

Both modes have the same steps: the request (_analyze_mode) → the target (_analyze_target) → the mode's statements
(_analyze_dovetail, _analyze_spark) → running them with progress, under the settings of the mode → the statistics, and
warnings about what was not collected.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dovetail import _spark_errors, _sql, _watch
from dovetail._analyze_dovetail import DovetailPass
from dovetail._analyze_mode import (
    TOGGLE_KEY,
    Columns,
    Groups,
    Mode,
    Partitions,
    Request,
    Statement,
    histograms_are_off,
)
from dovetail._analyze_spark import SparkAnalyze
from dovetail._analyze_target import Database, Table, resolved, session_of, table
from dovetail._watch import Tell
from dovetail.errors import (
    AnalyzeError,
    AnalyzeIncompleteError,
    DovetailError,
    DovetailWarning,
    NotAnalyzableError,
    NotEnabledError,
)
from dovetail.progress import progress as shown_progress
from dovetail.statistics import DatabaseStats, TableStats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_MODES: dict[str, Mode] = {"dovetail": DovetailPass(), "spark": SparkAnalyze()}


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

    By default, one pass over the data collects all statistics of all columns. Dovetail stores them per file (see
    `spark.dovetail.store.path`), and the next call reads only new and changed files. An interrupt (Ctrl-C) cancels the
    job and keeps the earlier statistics.

    Args:
        spark: A session with Dovetail, classic or Connect. A DataFrame is analyzed in its own session.
        target: A table (`db.t`, `catalog.db.t`; backticks around parts that hold dots), a view, files
            (``parquet.`/data/t` ``), a DataFrame, or a database (`db`, or `db.*` if a table has the same name).
            mode="spark" takes tables and databases.
        columns: Names of columns, or "all". None means all columns; with mode="spark", it means no columns, only rows
            and bytes. A `DovetailWarning` names columns whose types have no statistics.
        partitions: `{"year": 2024}` (all partitions of this year), a list of such specifications, or "all". None as a
            value means the NULL partition. With mode="spark", only rows and bytes of the partitions are collected;
            `columns` cannot be given as well.
        histogram: Whether histograms are collected; None leaves it to `spark.dovetail.histogram.enabled`. With
            mode="dovetail", they are quantiles from the same pass. With mode="spark", True builds an equi-height
            histogram per column, which needs a second scan of the data. None builds no histograms if that setting is
            false; otherwise `spark.sql.statistics.histogram.enabled` decides. All settings are restored after the call.
        mode: "dovetail", or "spark" for Spark's ANALYZE TABLE.
        progress: Whether to show progress on stderr: a bar with rich in a terminal or notebook, otherwise one line per
            table.
        groups: Groups of columns whose distinct combinations are also counted, such as keys of joins on several
            columns: `[["item_id", "ticket"]]`. Not with mode="spark".
        noscan: For mode="spark": only bytes, from the file system; the data is not read. For a table without
            statistics, Spark 4 also stores 0 rows. Dovetail reads this as unknown, but Spark's own CBO believes it.

    Returns:
        The statistics after the call: `TableStats` for a table, `DatabaseStats` for a database.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        TargetNotFoundError: No such table or database.
        ColumnNotFoundError: No such column, or Spark has no statistics for its type.
        PartitionNotFoundError: No such partition column; with mode="spark" also no such partition.
        NotAnalyzableError: This kind of target or this combination of arguments cannot be analyzed.
        AnalyzeIncompleteError: Some tables of a database failed; the statistics of the others are in its `done`.
        AnalyzeError: Spark failed for another reason, which is the cause of this error.

    Example::

        dovetail.analyze(spark, "tpcds.store_sales", groups=[["ss_item_sk", "ss_ticket_number"]])
        dovetail.analyze(spark, "sales", partitions={"year": 2024})
        dovetail.analyze(spark, "parquet.`/data/sales`")
        dovetail.analyze(spark, "tpcds")  # every table of a database
        dovetail.analyze(spark, "tpcds.store_sales", columns="all", histogram=True, mode="spark")
    """
    request = Request.of(columns, partitions, histogram, noscan, groups)
    if not isinstance(mode, str) or mode not in _MODES:
        raise NotAnalyzableError(
            f"there is no mode {mode!r}. Allowed: 'dovetail' (one pass, kept by Dovetail) and 'spark' (Spark's ANALYZE "
            "TABLE)."
        )
    chosen = _MODES[mode]
    chosen.check(request)
    spark = session_of(spark, target)
    _sql.require_dovetail(spark)
    run = _Run(spark, chosen, request)
    if histogram and histograms_are_off(spark):
        run.notes.append(
            f"histogram=True, but {TOGGLE_KEY}=false: Dovetail will not use the histograms that this call builds."
        )
    try:
        with resolved(spark, target) as found:
            chosen.refuse(found, request)
            with _sql.settings(spark, chosen.settings(spark, request)):
                return run.database(found, progress) if isinstance(found, Database) else run.table(found, progress)
    finally:
        for note in run.notes:
            warnings.warn(note, DovetailWarning, stacklevel=2)


@dataclass
class _Run:
    """One call of `analyze`: runs its statements with progress, and collects notes on them."""

    spark: SparkSession
    mode: Mode
    request: Request
    notes: list[str] = field(default_factory=list)

    def table(self, table: Table, progress: bool) -> TableStats:
        """Analyzes one table; each statement is a step of the progress."""
        statements = self.mode.statements(table, self.request)
        with shown_progress("analyze", len(statements), progress) as shown:
            answers: list[Row] = []
            for statement in statements:
                with shown.step(statement.label) as tell:
                    answers += self._answer(table, statement, tell)
        return self._result(table, answers)

    def database(self, database: Database, progress: bool) -> DatabaseStats:
        """Analyzes every table; each is a step. If one fails, the others go on: earlier ones may have taken hours.

        Raises:
            AnalyzeIncompleteError: Some tables could not be analyzed; the others are in its `done`.
        """
        done: list[TableStats] = []
        failures: dict[str, str] = {}
        with shown_progress(f"analyze {database.name}", len(database.tables), progress) as shown:
            for name in database.tables:
                with shown.step(name) as tell:
                    try:
                        one = table(self.spark, (*database.parts, name))
                        statements = self.mode.statements(one, self.request)
                        answers = [row for statement in statements for row in self._answer(one, statement, tell)]
                        done.append(replace(self._result(one, answers), table=name))
                    except AnalyzeError as error:
                        failures[name] = str(error)
        result = DatabaseStats(database.name, tuple(done))
        if failures:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
            raise AnalyzeIncompleteError(
                f"{len(failures)} of {len(database.tables)} tables of {database.name} could not be analyzed "
                f"({reasons}). The others were; their statistics are in this error's `done`.",
                result,
                failures,
            )
        return result

    def _answer(self, table: Table, statement: Statement, tell: Tell) -> list[Row]:
        try:
            with _watch.statement(self.spark, tell):
                return _sql.statement_rows(self.spark, statement.sql)
        except NotEnabledError:
            raise
        except AnalyzeError as error:
            _call_by_label(table, error)
            raise
        except DovetailError as error:
            raise AnalyzeError(f"{table.name} could not be analyzed: {error}") from error
        except Exception as error:
            if not _spark_errors.is_spark_error(error):
                raise
            raise self.mode.failure(self.spark, table, statement, error) from error

    def _result(self, table: Table, answers: Sequence[Row]) -> TableStats:
        self.notes += self.mode.notes(self.spark, table, self.request, answers)
        return self.mode.known(self.spark, table, self.request)


def _call_by_label(table: Table, error: AnalyzeError) -> None:
    """Replaces the name of a DataFrame's view in an error of the jar: users do not know it, and it is dropped."""
    if table.kind == "frame":
        error.args = (str(error).replace(table.quoted, table.name),)
        error.parameters = {key: value.replace(table.quoted, table.name) for key, value in error.parameters.items()}
