"""`dovetail.pins`: join orders under a name, which stay when statistics change.

A pin is taken by every query with the same tables and predicates, whatever its constants and aliases. Pins are kept in
the statistics store, so all sessions and applications that share it have them.

    dovetail.pins.capture(spark, "nightly", "SELECT ...")       # the order that it gets now
    dovetail.pins.capture(spark, "nightly", "SELECT ...", order="((sales item) store)")
    dovetail.pins.all(spark)
    dovetail.pins.remove(spark, "nightly")
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail import _sql
from dovetail._identifiers import Quotes, quote, string_literal
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Pin:
    """The order of one group of joins; a query of several groups has several under one name.

    Attributes:
        name: Its name.
        order: As explain writes it.
        relations: What it orders.
        created: When, in UTC, as ISO 8601 writes it.
        query: The query that it was made of.
        used: How many queries were planned by it since the application started.
        place: The file it is kept in, or "this application" where the store cannot be written.
    """

    name: str
    order: str
    relations: tuple[str, ...]
    created: str
    query: str
    used: int
    place: str


def capture(spark: SparkSession, name: str, sql: str, order: str | None = None) -> tuple[Pin, ...]:
    """Pins the order of a query, in the place of a pin of the same name.

    Args:
        spark: A session with Dovetail, classic or Connect.
        name: For the pin.
        sql: The query; it is planned, not run.
        order: As explain writes it, e.g. ``((sales item) store)``; the order that the query gets now if not given.

    Returns:
        The pin, once per group of three or more relations.
    """
    _sql.require_dovetail(spark)
    chosen = "" if order is None else f" AS {string_literal(order, Quotes.DOUBLED)}"
    _sql.rows(spark, f"DOVETAIL PIN {_name(name)}{chosen} FOR {sql}")
    return tuple(pin for pin in all(spark) if pin.name == name)


def all(spark: SparkSession) -> tuple[Pin, ...]:
    """All pins, by name."""
    found = _sql.function_rows(spark, "dovetail_pins")
    return tuple(Pin(**{**row, "relations": tuple(row["relations"])}) for row in found)


def remove(spark: SparkSession, name: str) -> None:
    """Removes a pin."""
    _sql.require_dovetail(spark)
    _sql.rows(spark, f"DOVETAIL UNPIN {_name(name)}")


def save(spark: SparkSession, path: str) -> None:
    """Writes all pins to a file, on any file system that the cluster knows."""
    _sql.require_dovetail(spark)
    _sql.rows(spark, f"DOVETAIL SAVE PINS {string_literal(path, Quotes.DOUBLED)}")


def load(spark: SparkSession, path: str) -> tuple[Pin, ...]:
    """Adds the pins of a file, in the place of those of the same names; returns all pins."""
    _sql.require_dovetail(spark)
    _sql.rows(spark, f"DOVETAIL LOAD PINS {string_literal(path, Quotes.DOUBLED)}")
    return all(spark)


def _name(name: str) -> str:
    if not name or "`" in name:
        raise StatementError(f"{name!r} is no name for a pin: it must not be empty, nor hold a backtick.")
    return quote(name)
