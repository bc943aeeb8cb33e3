"""Turns a query (SQL text or a DataFrame) into SQL text; a DataFrame becomes a temporary view."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dovetail import _sql
from dovetail._error_text import got
from dovetail._spark_errors import condition, is_spark_error
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# How a query begins after its comments. A table name that begins with such a word ends there or continues with a dot,
# and does not match.
# No two ways to read a text: otherwise, comments before a text that is no query would take exponential time.
_COMMENTS = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*"
_QUERY = re.compile(rf"{_COMMENTS}(\(|(select|with|values|from|table)\b(?!\s*(?:\.|;|$)))", re.IGNORECASE | re.DOTALL)


def is_query(text: str) -> bool:
    r"""Whether a text is a query and not the name of a table.

    >>> is_query("SELECT 1"), is_query("-- of today\nSELECT*FROM t"), is_query("TABLE t")
    (True, True, True)
    >>> is_query("db.with"), is_query("`select t`"), is_query("values"), is_query("from.t"), is_query("tables")
    (False, False, False, False, False)
    """
    return _QUERY.match(text) is not None


# Names in results for a DataFrame and for the text of a query, which have no name.
FRAME = "DataFrame"
TEXT = "query"


@contextmanager
def query_text(query: DataFrame | str, spark: SparkSession | None, call: str) -> Iterator[tuple[SparkSession, str]]:
    """The session and the text of a query, for the body of a `with`.

    Args:
        query: A DataFrame, or the text of a query.
        spark: The session for a text; default: the active session.
        call: Name of the calling function, for error messages.

    Raises:
        StatementError: The query is neither a DataFrame nor text, or it is text and there is no session.
    """
    if isinstance(query, str):
        yield _sql.session_or_active(spark), query
        return
    if not hasattr(query, "createOrReplaceTempView"):
        raise StatementError(f"{call} takes a DataFrame of Spark or the text of a query, {got(query)}")
    # a view belongs to the session of its DataFrame
    with temporary_view(query, call) as view:
        yield query.sparkSession, f"SELECT * FROM {view}"  # noqa: S608 - the name is ours


@contextmanager
def temporary_view(frame: DataFrame, call: str) -> Iterator[str]:
    """Creates a temporary view of a DataFrame for the body of a `with`, and yields its name.

    Raises:
        SessionStoppedError: The session of the DataFrame is stopped.
    """
    _sql.require_running(frame.sparkSession)
    view = _new_name(call)
    frame.createOrReplaceTempView(view)
    try:
        yield view
    finally:
        _sql.rows(frame.sparkSession, f"DROP VIEW IF EXISTS {view}")


@contextmanager
def view_of_text(spark: SparkSession, query: str, call: str) -> Iterator[str]:
    """Creates a temporary view of a query's text for the body of a `with`; Spark's parser rejects any other text."""
    view = _new_name(call)
    try:
        _sql.rows(spark, f"CREATE TEMPORARY VIEW {view} AS {query}")
    except Exception as error:
        if is_spark_error(error) and condition(error) == "PARSE_SYNTAX_ERROR":
            _raise_own(spark, query, call)
        if not (is_spark_error(error) and condition(error) == "COLUMN_ALREADY_EXISTS"):
            raise
        # The view of a DataFrame may have columns of the same name. The parser has read the text as a query, so making
        # the DataFrame runs no command.
        _sql.frame(spark, query).createOrReplaceTempView(view)
    try:
        yield view
    finally:
        _sql.rows(spark, f"DROP VIEW IF EXISTS {view}")


def _raise_own(spark: SparkSession, query: str, call: str) -> None:
    """Raises the error of a query that does not parse, with the position in the query itself; the query never runs."""
    try:
        _sql.function_rows(spark, "dovetail_estimate", query)
    except StatementError:
        raise StatementError(f"{call} takes a query (SELECT …), not a command: {query}") from None


def _new_name(call: str) -> str:
    """A unique name, so that no view of the user is replaced. The jar recognizes such names by their form."""
    return f"__dovetail_{call}_{uuid.uuid4().hex}"
