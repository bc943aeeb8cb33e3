"""A folder of Parquet as tables: each table is a file `t.parquet`, or a folder `t` with Parquet files in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.demo.data import import_duckdb
from dovetail.errors import DovetailError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SUFFIX = ".parquet"


def find(directory: Path) -> dict[str, Path]:
    """Tables of a folder, by name.

    Raises:
        DovetailError: There is no such folder, or no table in it.
    """
    if not directory.is_dir():
        raise DovetailError(f"--tables {directory}: no such folder.")
    found: dict[str, Path] = {}
    for path in sorted(directory.iterdir()):
        if path.name.startswith((".", "_")) or not (path.suffix == SUFFIX or path.is_dir()):
            continue
        if path.is_dir() and not any(path.rglob(f"*{SUFFIX}")):
            continue
        name = path.name.removesuffix(SUFFIX)
        if name in found:
            raise DovetailError(f"table {name} is there twice: {found[name]} and {path}.")
        found[name] = path.absolute()
    if not found:
        raise DovetailError(
            f"--tables {directory}: no table in it. A table is a file <name>{SUFFIX}, or a folder <name> of such files."
        )
    return found


def files(path: Path) -> str:
    """SQL literal of the files that DuckDB reads for a table."""
    pattern = path / "**" / f"*{SUFFIX}" if path.is_dir() else path
    return "'" + pattern.as_posix().replace("'", "''") + "'"


def views(tables: Mapping[str, Path]) -> DuckDBPyConnection:
    """A connection to a new DuckDB in which every table is a view."""
    connection: DuckDBPyConnection = import_duckdb().connect()
    for name, path in tables.items():
        connection.execute(f'CREATE VIEW "{name}" AS FROM {files(path)}')
    return connection
