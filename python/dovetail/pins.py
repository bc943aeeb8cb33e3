"""`dovetail.pins`: named join orders that stay when statistics change.

A pin applies to every query with the same tables and predicates, regardless of constants and aliases. Pins are stored
in the statistics store, so all sessions and applications that share the store have them.

    dovetail.pins.capture(spark, "nightly", "SELECT ...")       # the order that the query gets now
    dovetail.pins.capture(spark, "nightly", "SELECT ...", order="((sales item) store)")
    dovetail.pins.all(spark)
    dovetail.pins.remove(spark, "nightly")
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

from dovetail import _sql
from dovetail._display import Listing
from dovetail._identifiers import quote
from dovetail._query import query_text
from dovetail._store import warn_if_unchanged
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Pin:
    """The pinned order of one group of joins. A query with several groups has several pins of one name.

    Attributes:
        name: Name of the pin.
        order: The order, in the notation of explain.
        relations: The relations that it orders.
        created: Time of creation in UTC, in ISO 8601 format.
        query: The query from which the pin was made; "a DataFrame" if it was one; empty if it reads a private column,
            or if `spark.dovetail.store.values` is false.
        used: Number of queries that used the pin since the application started.
        place: The file that stores the pin, or "this application" if the file could not be written.
    """

    HEADER: ClassVar[tuple[str, ...]] = ("name", "order", "relations", "created", "query", "used", "place")
    RIGHT: ClassVar[frozenset[int]] = frozenset({5})

    name: str
    order: str
    relations: tuple[str, ...]
    created: str
    query: str
    used: int
    place: str

    def _cells(self) -> tuple[str | None, ...]:
        return (self.name, self.order, ", ".join(self.relations), self.created, self.query, str(self.used), self.place)


def capture(spark: SparkSession, name: str, sql: DataFrame | str, order: str | None = None) -> Listing[Pin]:
    """Pins the order of a query; replaces a pin of the same name.

    Args:
        spark: A session with Dovetail, classic or Connect.
        name: Name of the pin.
        sql: The query, as SQL text or a DataFrame; it is planned, not run.
        order: The order in the notation of explain, e.g. ``((sales item) store)``; default: the order that the query
            gets now.

    Returns:
        One pin per group of three or more relations.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The query is neither text nor a DataFrame, Dovetail orders no joins in it, or `order` is no
            order of it.
        pyspark.errors.AnalysisException: The query is wrong; this is Spark's own error.

    Warns:
        DovetailWarning: The store is not writable, or its file of pins is broken, so the pin applies only in this
            application. The warning names the file or the directory, and the reason.
    """
    _sql.require_dovetail(spark)
    chosen = "" if order is None else f" AS {_sql.text_literal(spark, order, 'order')}"
    with query_text(sql, spark, "capture") as (session, text):
        done = _sql.statement_rows(session, f"DOVETAIL PIN {_name(name)}{chosen} FOR {text}")
    warn_if_unchanged([row[0] for row in done])
    return Listing(pin for pin in all(spark) if pin.name == name)


def all(spark: SparkSession) -> Listing[Pin]:
    """All pins, sorted by name.

    Args:
        spark: A session with Dovetail, classic or Connect.

    Raises:
        NotEnabledError: The session does not have Dovetail.
    """
    return Listing(_sql.records(spark, "dovetail_pins", Pin))


def remove(spark: SparkSession, name: str) -> None:
    """Removes a pin.

    Args:
        spark: A session with Dovetail, classic or Connect.
        name: Name of the pin.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: There is no such pin.

    Warns:
        DovetailWarning: The store is not writable, or its file of pins is broken, so the pin is removed only in this
            application.
    """
    _sql.require_dovetail(spark)
    warn_if_unchanged([row[0] for row in _sql.statement_rows(spark, f"DOVETAIL UNPIN {_name(name)}")])


def save(spark: SparkSession, path: str | PathLike[str]) -> None:
    """Writes all pins to a file, on any file system of the cluster.

    Args:
        spark: A session with Dovetail, classic or Connect.
        path: The file, as text or as a path object; a URI must be text. An existing file is replaced, unless the
            store's file of pins cannot be read.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The file cannot be written, or `path` is not a path.

    Warns:
        DovetailWarning: The store's file of pins cannot be read, so only the pins of this application were written.
    """
    _sql.require_dovetail(spark)
    done = _sql.statement_rows(spark, f"DOVETAIL SAVE PINS {_sql.path_literal(spark, path)}")
    warn_if_unchanged([row[0] for row in done])


def load(spark: SparkSession, path: str | PathLike[str]) -> Listing[Pin]:
    """Adds the pins in a file, replaces pins of the same names, and returns all pins.

    Args:
        spark: A session with Dovetail, classic or Connect.
        path: The file that `save` wrote, as text or as a path object; a URI must be text.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The file cannot be read, is not such a file, or `path` is not a path.

    Warns:
        DovetailWarning: The store is not writable, or its file of pins is broken, so the pins apply only in this
            application.
    """
    _sql.require_dovetail(spark)
    done = _sql.statement_rows(spark, f"DOVETAIL LOAD PINS {_sql.path_literal(spark, path)}")
    warn_if_unchanged([row[0] for row in done])
    return all(spark)


def _name(name: str) -> str:
    if not isinstance(name, str) or not name or "`" in name:
        raise StatementError(f"{name!r} is not a valid pin name: it must be text, not empty, without a backtick.")
    return quote(name)
