"""A query as SQL text, whichever way the user has it: text cannot carry a DataFrame, but a temporary view can."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dovetail import _sql
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@contextmanager
def query_text(query: DataFrame | str, spark: SparkSession | None, call: str) -> Iterator[tuple[SparkSession, str]]:
    """The session and the text of a query, for the body of a `with`.

    Args:
        query: A DataFrame, or the text of a query.
        spark: The session for a text; the active one where there is none.
        call: What the user called, for errors.

    Raises:
        StatementError: Neither a DataFrame nor text, or text without a session.
    """
    if isinstance(query, str):
        yield _sql.session_or_active(spark), query
        return
    if not hasattr(query, "createOrReplaceTempView"):
        raise StatementError(f"{call} takes a DataFrame or the text of a query, got {type(query).__name__}.")
    with temporary_view(query, call) as view:
        yield query.sparkSession, f"SELECT * FROM {view}"  # noqa: S608 - the name is ours


@contextmanager
def temporary_view(frame: DataFrame, call: str) -> Iterator[str]:
    """A view of a DataFrame for the body of a `with`: the name by which SQL can speak of it."""
    # A name no one else has: a view of the user's must never be replaced.
    view = f"__dovetail_{call}_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(view)
    try:
        yield view
    finally:
        _sql.rows(frame.sparkSession, f"DROP VIEW IF EXISTS {view}")
