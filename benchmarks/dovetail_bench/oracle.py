"""DuckDB as a second opinion: the same texts on the same files, to detect mistakes that two Spark plans share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail.demo.data import Dataset, import_duckdb
from dovetail_bench.queries import Query
from dovetail_bench.rows import Row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Spark's ORDER BY puts NULL first if the order is ascending, and last if it is descending.
NULL_ORDER = "nulls_first_on_asc_last_on_desc"


@dataclass(frozen=True)
class Touch:
    """A change to the text of a query that DuckDB's dialect needs; the meaning of the query stays the same."""

    pattern: str
    replacement: str
    reason: str


EVERY_QUERY = Touch("`", '"', "identifiers are quoted by double quotes")

_AMBIGUOUS = "an unqualified name in ORDER BY is looked up in FROM, where two relations have it, before the output"

TOUCHES: Mapping[str, Touch] = {
    "q58": Touch(
        r"ORDER BY item_id", "ORDER BY ss_items.item_id", "an unqualified name in ORDER BY is looked up in FROM first"
    ),
    "q72": Touch(r"total_cnt DESC(.*), d_week_seq", r"total_cnt DESC\1, d1.d_week_seq", _AMBIGUOUS),
    "q77": Touch(r"\breturns\b", '"returns"', "RETURNS is a keyword"),
    "q77a": Touch(r"\breturns\b", '"returns"', "RETURNS is a keyword"),
}


def connect() -> DuckDBPyConnection:
    """A connection to a new DuckDB whose ORDER BY treats NULL as Spark does."""
    duckdb: DuckDBPyConnection = import_duckdb().connect()
    duckdb.execute(f"SET default_null_order = '{NULL_ORDER}'")
    return duckdb


class Oracle:
    """A DuckDB database that sees one data set."""

    def __init__(self, data: Dataset) -> None:
        self._connection = connect()
        for table in data.tables:
            files = (data.location(table) / "*.parquet").as_posix().replace("'", "''")
            self._connection.execute(f"CREATE VIEW {table} AS FROM '{files}'")

    def answer(self, query: Query, text: str) -> list[Row]:
        """Rows of this query, or of this variant of its text."""
        for touch in (EVERY_QUERY, TOUCHES.get(query.name)):
            if touch is not None:
                text = re.sub(touch.pattern, touch.replacement, text, flags=re.IGNORECASE)
        return [tuple(row) for row in self._connection.execute(text).fetchall()]

    def close(self) -> None:
        self._connection.close()
