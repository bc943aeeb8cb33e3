"""`dovetail.rows`: numbers of rows that somebody knows better than any estimate, for this session.

    dovetail.rows.tell(spark, 1_000_000, table="sales")
    dovetail.rows.tell(spark, 1200, sql="SELECT * FROM sales s JOIN item i ON s.item_id = i.item_id WHERE i.class = 7")
    dovetail.rows.all(spark)
    dovetail.rows.forget(spark)

The number of a query holds wherever a query joins the same tables by the same predicates, also as a part of more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail import _sql
from dovetail._identifiers import Quotes, parse_name, quote_name, string_literal
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class KnownRows:
    """A number of rows that was told.

    Attributes:
        kind: "table" or "query".
        text: The table or the query, as it was written.
        rows: The number.
        relations: What the query joins, in the form in which other queries are compared with it.
    """

    kind: str
    text: str
    rows: float
    relations: tuple[str, ...]


def tell(spark: SparkSession, rows: int, *, sql: str | None = None, table: str | None = None) -> None:
    """Tells how many rows a query returns, or a table has.

    Args:
        spark: A session with Dovetail, classic or Connect.
        rows: The number.
        sql: A query; it is planned, not run. Columns that it selects do not matter.
        table: A table, in the place of `sql`.
    """
    _sql.require_dovetail(spark)
    if not isinstance(rows, int) or rows < 0:
        raise StatementError(f"{rows} is no number of rows: it is a whole number, 0 or more.")
    _sql.rows(spark, f"DOVETAIL SET ROWS {rows} FOR {_target(sql, table)}")


def all(spark: SparkSession) -> tuple[KnownRows, ...]:
    """All numbers that this session was told, in their order."""
    found = _sql.function_rows(spark, "dovetail_rows")
    return tuple(KnownRows(**{**row, "relations": tuple(row["relations"])}) for row in found)


def forget(spark: SparkSession, *, sql: str | None = None, table: str | None = None) -> None:
    """Forgets the number of a query or of a table; all numbers where neither is given."""
    _sql.require_dovetail(spark)
    _sql.rows(spark, "DOVETAIL FORGET ROWS" + ("" if sql is None and table is None else f" FOR {_target(sql, table)}"))


def save(spark: SparkSession, path: str) -> None:
    """Writes all numbers to a file, on any file system that the cluster knows."""
    _sql.require_dovetail(spark)
    _sql.rows(spark, f"DOVETAIL SAVE ROWS {string_literal(path, Quotes.DOUBLED)}")


def load(spark: SparkSession, path: str) -> tuple[KnownRows, ...]:
    """Adds the numbers of a file: a JSON list of ``{"query": …, "rows": …}`` or ``{"table": …, "rows": …}``."""
    _sql.require_dovetail(spark)
    _sql.rows(spark, f"DOVETAIL LOAD ROWS {string_literal(path, Quotes.DOUBLED)}")
    return all(spark)


def _target(sql: str | None, table: str | None) -> str:
    if (sql is None) == (table is None):
        raise StatementError("rows are of a query or of a table: give one of sql and table.")
    return f"TABLE {quote_name(parse_name(table))}" if table is not None else str(sql)
