"""`dovetail.rows`: known row counts, which replace estimates in this session.

    dovetail.rows.tell(spark, 1_000_000, table="sales")
    dovetail.rows.tell(spark, 1200, sql="SELECT * FROM sales s JOIN item i ON s.item_id = i.item_id WHERE i.class = 7")
    dovetail.rows.tell(spark, 1200, sql=sales.join(item, "item_id").where("class = 7"))
    dovetail.rows.all(spark)
    dovetail.rows.forget(spark)

The row count of a query applies wherever a query joins the same tables with the same predicates, also as part of a
larger query.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

from dovetail import _sql
from dovetail._display import Listing, number
from dovetail._error_text import listing
from dovetail._identifiers import parse_name, quote_name
from dovetail._not_found import target_not_found
from dovetail._query import query_text
from dovetail._spark_errors import is_not_found
from dovetail.errors import DovetailWarning, StatementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The largest number that DOVETAIL SET ROWS takes: 18 digits.
MOST_ROWS = 10**18 - 1


@dataclass(frozen=True)
class KnownRows:
    """A known row count.

    Attributes:
        kind: "table" or "query".
        text: The table or the query, as written; "a DataFrame" if it was one.
        rows: The row count.
        relations: The relations that the query joins, in the canonical form that is compared with other queries.
    """

    HEADER: ClassVar[tuple[str, ...]] = ("kind", "of", "rows", "relations")
    RIGHT: ClassVar[frozenset[int]] = frozenset({2})

    kind: str
    text: str
    rows: float
    relations: tuple[str, ...]

    def _cells(self) -> tuple[str | None, ...]:
        return (self.kind, self.text, number(self.rows, ",.0f"), ", ".join(self.relations))


def tell(spark: SparkSession, rows: int, *, sql: DataFrame | str | None = None, table: str | None = None) -> None:
    """Sets the row count of a query or a table.

    Args:
        spark: A session with Dovetail, classic or Connect.
        rows: The row count.
        sql: A query, as SQL text or a DataFrame; it is planned, not run. Its selected columns do not matter.
        table: Name of a table, instead of `sql`.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The number or the query cannot be used.
        TargetNotFoundError: There is no such table, view or path.
        pyspark.errors.AnalysisException: The query is wrong; this is Spark's own error.
    """
    _sql.require_dovetail(spark)
    try:
        count = -1 if isinstance(rows, bool) else operator.index(rows)
    except TypeError:
        count = -1
    if not 0 <= count <= MOST_ROWS:
        raise StatementError(f"rows={rows!r} is not allowed: give a whole number, 0 or more, with at most 18 digits.")
    with _target(spark, sql, table, "tell") as (session, target):
        _sql.statement_rows(session, f"DOVETAIL SET ROWS {count} FOR {target}")


def all(spark: SparkSession) -> Listing[KnownRows]:
    """All known row counts of this session, in the order in which they were set.

    Args:
        spark: A session with Dovetail, classic or Connect.

    Raises:
        NotEnabledError: The session does not have Dovetail.
    """
    return Listing(_sql.records(spark, "dovetail_rows", KnownRows))


def forget(spark: SparkSession, *, sql: DataFrame | str | None = None, table: str | None = None) -> None:
    """Removes the row count of a query or of a table; without both, all row counts of this session.

    Args:
        spark: A session with Dovetail, classic or Connect.
        sql: The query, as SQL text or a DataFrame.
        table: Name of the table, instead of `sql`.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The query cannot be used, or both `sql` and `table` are given.
        TargetNotFoundError: There is no such table, view or path.
        pyspark.errors.AnalysisException: The query is wrong; this is Spark's own error.
    """
    _sql.require_dovetail(spark)
    if sql is None and table is None:
        _sql.statement_rows(spark, "DOVETAIL FORGET ROWS")
        return
    with _target(spark, sql, table, "forget") as (session, target):
        _sql.statement_rows(session, f"DOVETAIL FORGET ROWS FOR {target}")


def save(spark: SparkSession, path: str | PathLike[str]) -> None:
    """Writes the row counts to a file, on any file system of the cluster; row counts of DataFrames cannot be saved.

    Args:
        spark: A session with Dovetail, classic or Connect.
        path: The file, as text or as a path object; a URI must be text. An existing file is replaced.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The file cannot be written, or `path` is not a path.

    Warns:
        DovetailWarning: Row counts of DataFrames are not in the file, because a DataFrame has no SQL text.
    """
    _sql.require_dovetail(spark)
    for done in _sql.statement_rows(spark, f"DOVETAIL SAVE ROWS {_sql.path_literal(spark, path)}"):
        # only then, the message of the jar has a second part
        if "not saved" in done[0]:
            warnings.warn(done[0], DovetailWarning, stacklevel=2)


def load(spark: SparkSession, path: str | PathLike[str]) -> Listing[KnownRows]:
    """Adds the row counts in a file, and returns all row counts.

    Args:
        spark: A session with Dovetail, classic or Connect.
        path: The file, as text or as a path object; a URI must be text. It is a JSON list of
            ``{"query": …, "rows": …}`` or ``{"table": …, "rows": …}``.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The file cannot be read, is not such a file, or `path` is not a path.

    Warns:
        DovetailWarning: Row counts in the file are left out, because their tables do not exist, or their queries cannot
            be planned.
    """
    _sql.require_dovetail(spark)
    _, *left_out = _sql.statement_rows(spark, f"DOVETAIL LOAD ROWS {_sql.path_literal(spark, path)}")
    if left_out:
        warnings.warn(listing((row[0] for row in left_out), "; "), DovetailWarning, stacklevel=2)
    return all(spark)


@contextmanager
def _target(
    spark: SparkSession, sql: DataFrame | str | None, table: str | None, call: str
) -> Iterator[tuple[SparkSession, str]]:
    if (sql is None) == (table is None):
        given = "neither" if sql is None else "both"
        raise StatementError(f"rows.{call} takes either sql or table, and got {given}.")
    if sql is not None:
        with query_text(sql, spark, call) as (session, text):
            yield session, text
    elif table is not None:
        if not isinstance(table, str):
            raise StatementError(f"table takes the name of a table, got {type(table).__name__}. Pass a query as sql.")
        try:
            yield spark, f"TABLE {quote_name(parse_name(table))}"
        except Exception as error:
            if is_not_found(error):
                raise target_not_found(spark, table) from None
            raise
