"""DuckDB's answers to the queries of `fuzz`, from the same files as Spark's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.demo.data import import_duckdb
from dovetail_bench.oracle import connect
from dovetail_bench.random_tables import ROWS, SIZES
from dovetail_bench.rows import Row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class SecondOpinion:
    """A DuckDB for one thread. Some queries crash it; it then starts again without affecting other threads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._duckdb = _one_thread()
        self._database = ""

    def use(self, database: str) -> None:
        """Loads the tables of a data set from their files."""
        self._duckdb.execute(f"CREATE SCHEMA IF NOT EXISTS {database}")
        self._duckdb.execute(f"USE {database}")
        for table in SIZES:
            rows = (self._directory / database / table / ROWS).as_posix()
            self._duckdb.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM '{rows}'")
        self._database = database

    def rows(self, sql: str) -> list[Row]:
        """Rows of a query; raises DuckDB's error."""
        try:
            return [tuple(row) for row in self._duckdb.execute(sql).fetchall()]
        except (import_duckdb().FatalException, import_duckdb().InternalException):
            self._duckdb = _one_thread()
            self.use(self._database)
            raise

    def rows_unoptimized(self, sql: str) -> list[Row]:
        """Rows of the query executed as it is written, because DuckDB's optimizer has errors, too."""
        self._duckdb.execute("PRAGMA disable_optimizer")
        try:
            return self.rows(sql)
        finally:
            self._duckdb.execute("PRAGMA enable_optimizer")


def _one_thread() -> DuckDBPyConnection:
    duckdb = connect()
    duckdb.execute("SET threads = 1")
    return duckdb
