"""`explain`: what Dovetail does with the joins of a query. The package `report` renders its forms."""

from __future__ import annotations

import json
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dovetail import _sql, _watch
from dovetail._query import query_text
from dovetail.errors import StatementError
from dovetail.report import mermaid, model, page, reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Format = Literal["text", "verbose", "html", "json", "mermaid"]

_RENDER: Mapping[str, Callable[[Explanation], str]] = {
    "text": lambda found: found._written("text"),
    "verbose": lambda found: found._written("verbose"),
    "html": lambda found: page.page(found._report, found.sql),
    "json": lambda found: json.dumps(found._data, indent=2),
    "mermaid": lambda found: mermaid.render(found._report),
}
FORMATS = tuple(_RENDER)
_FORMAT_OF_SUFFIX = {".txt": "text", ".html": "html", ".htm": "html", ".json": "json", ".mmd": "mermaid"}


@dataclass(frozen=True, repr=False)
class Explanation:
    """The written and the chosen join order, with estimates and costs: text at a prompt, a drawing in a notebook.

    Attributes:
        sql: The text of the query; None for a DataFrame.
        format: The form that `print` shows: "text", "verbose", "html", "json" or "mermaid".
    """

    sql: str | None
    format: str
    _data: dict[str, Any] = field(repr=False)

    @property
    def text(self) -> str:
        """What `print` shows."""
        return self.render(self.format)

    @property
    def reordered(self) -> bool:
        """Whether the order of any join group was changed."""
        return any(group.status == "reordered" for group in self._report.groups)

    def to_dict(self) -> dict[str, Any]:
        """The whole explanation as plain dictionaries, lists, strings and numbers; it contains more than the text.

        `groups` has one entry per group of joins: its `status` ("reordered", "kept" or "left_alone") and `reason`, its
        `relations` with their estimated rows, and the plans `before` and `after`. `schema()` describes all keys.
        """
        copy: dict[str, Any] = json.loads(json.dumps(self._data))
        return copy

    def render(self, format: str) -> str:
        """Renders the explanation in one form.

        Args:
            format: "text" for a terminal; "verbose" for text with all details of the search; "html" for a
                self-contained document with drawings; "json", described by `schema()`; "mermaid" for a flowchart.

        Raises:
            StatementError: The format is unknown.
        """
        return _RENDER[checked_format(format)](self)

    def save(self, path: str | Path, format: str | None = None) -> Path:
        """Writes the explanation to a file.

        Args:
            path: A file on this machine; an existing file is replaced.
            format: As for `render`; by default the suffix of the name selects it: .txt, .html, .json or .mmd.

        Returns:
            The path.

        Raises:
            StatementError: No format is given, and the suffix is unknown; or `path` is not a path.
        """
        if not isinstance(path, (str, PathLike)):
            raise StatementError(f"path={path!r} is not allowed: give a file on this machine, as text or as a Path.")
        file = Path(path)
        file.write_text(self.render(format or format_of(file)), encoding="utf-8")
        return file

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return page.fragment(self._report)

    def _written(self, form: str) -> str:
        """The text of the explanation from the jar; an older jar sends none, so only verdicts and reasons are shown."""
        told = self._data.get(form)
        return str(told) if told else "\n".join(f"{group.verdict}: {group.reason}" for group in self._report.groups)

    @property
    def _report(self) -> model.Report:
        return reading.read(self._data)

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON Schema (2020-12) of `to_dict()`, of format="json", and of `dovetail_explain('…', 'json')` in SQL."""
        file = resources.files("dovetail.report").joinpath("explain.schema.json")
        loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return loaded


def explain(
    df_or_sql: DataFrame | str | int,
    spark: SparkSession | None = None,
    format: Format = "text",
    *,
    actual: bool = False,
) -> Explanation:
    """Explains how Dovetail orders the joins of a query. The query is planned; it runs only with `actual=True`.

    A past query is not planned again; the explanation shows what Dovetail did then, with the actual rows if it has run.

    Args:
        df_or_sql: A DataFrame, the text of a query, or the number of a past query: the `id` in `dovetail.queries`.
        spark: The session for a text or a number; default: the active session.
        format: The form that `print` shows: "text", "verbose", "html", "json" or "mermaid". This does not affect
            `render`, `save`, `to_dict` and the drawing in a notebook.
        actual: Runs the query, discards its rows, and shows the actual rows of each join next to the estimates.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The argument is not a DataFrame, text or number, the log has no such query, the format is
            unknown, or there is no session for the text.
        pyspark.errors.AnalysisException: The query is wrong; this is Spark's own error.

    Example::

        print(dovetail.explain(orders.join(lines, "order_id").join(items, "item_id")))
        dovetail.explain("SELECT ...", spark).save("order.html")
        print(dovetail.explain("SELECT ...", spark, actual=True))  # compares the estimates with the counts
        dovetail.explain(dovetail.queries(spark)[-1].id, spark)  # the last query that Dovetail looked at
        dovetail.explain("SELECT ...", spark).to_dict()["groups"][0]["status"]
    """
    checked_format(format)
    # a DataFrame has an attribute for each column, whatever its name
    if hasattr(df_or_sql, "catalog") and not hasattr(df_or_sql, "createOrReplaceTempView"):
        raise StatementError("explain takes the query first and the session second: dovetail.explain(query, spark).")
    if isinstance(df_or_sql, bool):
        raise StatementError("explain takes a DataFrame, the text of a query or its number, got bool.")
    # also a number of numpy, which the ids of a pandas DataFrame are
    if isinstance(df_or_sql, (int, numbers.Integral)):
        number = int(df_or_sql)
        if number < 0:
            raise StatementError(f"there is no query {number}: the numbers in dovetail.queries begin with 1.")
        return Explanation(None, format, _fetched(_sql.session_or_active(spark), str(number), actual))
    with query_text(df_or_sql, spark, "explain") as (session, query):
        found = _fetched(session, query, actual)
        return Explanation(query if isinstance(df_or_sql, str) else None, format, found)


def _fetched(spark: SparkSession, query: str, actual: bool) -> dict[str, Any]:
    arguments = (query, "json", "actual") if actual else (query, "json")
    with _watch.cancellable(spark):
        rows = _sql.function_rows(spark, "dovetail_explain", *arguments)
    found: dict[str, Any] = json.loads(rows[0]["explain"])
    return found


def checked_format(format: str) -> str:
    """Returns the format if it is known.

    Raises:
        StatementError: The format is unknown.
    """
    if not isinstance(format, str) or format not in _RENDER:
        raise StatementError(f"unknown format={format!r}. Formats: {', '.join(map(repr, _RENDER))}.")
    return format


def format_of(file: Path) -> str:
    """The format that the suffix of a file name selects.

    Raises:
        StatementError: The suffix is unknown.
    """
    found = _FORMAT_OF_SUFFIX.get(file.suffix.lower())
    if found is None:
        endings = ", ".join(_FORMAT_OF_SUFFIX)
        raise StatementError(f"unknown suffix of '{file.name}'. Use one of {endings}, or give the format.")
    return found
