"""`explain`: what Dovetail does to a query's joins, without running it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dovetail import _sql
from dovetail._query import query_text
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Explanation:
    """Join order before and after, with the estimates and costs behind it. `print` shows it.

    Attributes:
        text: What `print` shows: text for people, or indented JSON, as asked for.
    """

    text: str
    _data: dict[str, Any] = field(repr=False)

    @property
    def reordered(self) -> bool:
        """Whether the order of any join group was changed."""
        return any(group["status"] == "reordered" for group in self._data["groups"])

    def to_dict(self) -> dict[str, Any]:
        """Everything in the text, and more, as plain dictionaries, lists, strings and numbers.

        `groups` holds one entry per group of inner joins: its `status` ("reordered", "kept" or "left_alone") and
        `reason`, its `relations` with their estimated rows, and the plan `before` and `after`.
        """
        copy: dict[str, Any] = json.loads(json.dumps(self._data))
        return copy

    def __str__(self) -> str:
        return self.text


def explain(
    df_or_sql: DataFrame | str, spark: SparkSession | None = None, format: Literal["text", "json"] = "text"
) -> Explanation:
    """Explains how Dovetail orders the joins of a query. The query is planned, not run.

    Args:
        df_or_sql: A DataFrame, or the text of a query.
        spark: The session for a query's text; by default the active one.
        format: What `print` shows, "text" or "json". `to_dict` is there with both.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: Neither a DataFrame nor text, an unknown format, or text without a session.
        pyspark.errors.AnalysisException: The query itself is wrong; Spark's own error.

    Example::

        print(dovetail.explain(orders.join(lines, "order_id").join(items, "item_id")))
        dovetail.explain("SELECT ...", spark).to_dict()["groups"][0]["status"]
    """
    if format not in ("text", "json"):
        raise StatementError(f"format={format!r} is not available. Formats: 'text', 'json'.")
    with query_text(df_or_sql, spark, "explain") as (session, query):
        return _explained(session, query, format)


def _explained(spark: SparkSession, query: str, format: str) -> Explanation:
    data = json.loads(_sql.function_rows(spark, "dovetail_explain", query, "json")[0]["explain"])
    if format == "json":
        return Explanation(json.dumps(data, indent=2), data)
    return Explanation(_sql.function_rows(spark, "dovetail_explain", query)[0]["explain"], data)
