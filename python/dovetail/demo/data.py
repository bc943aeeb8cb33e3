"""TPC-DS and TPC-H data as Parquet, written by DuckDB's dsdgen and dbgen: the tables of the demo and of the benchmarks.

Each benchmark and scale has a directory with one directory per table, which can be the location of an external table.
DuckDB's types are the ones that Spark expects (INT, BIGINT, DECIMAL, DATE; CHAR and VARCHAR columns are plain, unpadded
strings). A data set is generated in a temporary directory beside its final place and then renamed, so it is complete or
does not exist.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from dovetail._identifiers import Quotes, string_literal
from dovetail.errors import DovetailError
from dovetail.progress import progress

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Benchmark = Literal["tpcds", "tpch"]

GENERATORS: Mapping[Benchmark, str] = {"tpcds": "dsdgen", "tpch": "dbgen"}

# Columns that have another name in DuckDB's schema than in Spark's queries: Spark's q30 says c_last_review_date.
RENAMED_COLUMNS: Mapping[tuple[Benchmark, str], Mapping[str, str]] = {
    ("tpcds", "customer"): {"c_last_review_date_sk": "c_last_review_date"},
}

MANIFEST = "dataset.json"

# Version of the layout of the files. It is raised when the layout changes, so that a cached data set with an older
# layout is not used.
FORMAT = 1

# Largest scale factor. dsdgen runs in one process and writes to a local disk: a larger scale takes hours, and a
# mistyped scale fills the disk.
MAX_SCALE = 100.0

_WITH_GENERATORS = 'pip install "dovetail-spark[demo]"'


@dataclass(frozen=True)
class Dataset:
    """A complete data set on disk.

    Attributes:
        benchmark: "tpcds", "tpch", or another data set of this shape.
        scale: Scale factor.
        directory: Directory of the data set.
        rows: Number of rows per table.
    """

    benchmark: str
    scale: float
    directory: Path
    rows: Mapping[str, int]

    @property
    def tables(self) -> list[str]:
        """Names of the tables, sorted."""
        return sorted(self.rows)

    def location(self, table: str) -> Path:
        """Directory of a table's Parquet files."""
        return self.directory / table


def cache_root() -> Path:
    """The default directory for data: below the system's directory for caches.

    Raises:
        DovetailError: This user has no home directory.
    """
    try:
        if sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        elif sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as error:
        raise DovetailError("this user has no home directory for the data. Choose a data directory.") from error
    return base / "dovetail"


def dataset(benchmark: Benchmark, scale: float, root: Path | str | None = None, show: bool = True) -> Dataset:
    """The data set of a benchmark and scale under `root`; generates it if it does not exist.

    Args:
        benchmark: "tpcds" or "tpch".
        scale: Scale factor; 1 is about 1 GB of raw data.
        root: Directory for data sets; None means `cache_root()`.
        show: Whether to show progress on stderr.

    Raises:
        DovetailError: The scale is out of range, DuckDB is missing, or the directory contains something else.
    """
    if not 0 < scale <= MAX_SCALE:
        raise DovetailError(
            f"scale {scale:g} is not allowed: it is above 0 and at most {MAX_SCALE:g} (1 is about 1 GB)."
        )
    return cached(benchmark, scale, root, lambda made, work: _generate(benchmark, scale, made, work, show))


def cached(
    name: str, scale: float, root: Path | str | None, make: Callable[[Path, Path], Mapping[str, int]]
) -> Dataset:
    """The data set of a name and scale under `root`; makes it if it does not exist.

    Args:
        name: "tpcds", "tpch", or another name; also the name of its directory.
        scale: Scale factor.
        root: Directory for data sets; None means `cache_root()`.
        make: Function that writes the tables into the first directory, which does not exist yet, and returns the number
            of rows per table. The second directory is for temporary files.

    Raises:
        DovetailError: The directory contains something else.
    """
    directory = Path(root or cache_root()).expanduser().absolute() / name / f"sf{scale:g}"
    found = _read(directory)
    if found is not None:
        return found
    if directory.exists():
        raise DovetailError(
            f"{directory} exists, but is no data set of this version (no valid {MANIFEST} in it). "
            "Remove it, or choose another data directory."
        )
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DovetailError(f"{directory.parent} cannot be made: {error.strerror}. Choose a data directory.") from error
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as work:
        made = Path(work) / "made"
        manifest = {"format": FORMAT, "benchmark": name, "scale": scale, "rows": make(made, Path(work))}
        (made / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        try:
            made.rename(directory)
        except OSError:
            # Another process was faster; its data is the same, because the generators are deterministic.
            if _read(directory) is None:
                raise
    complete = _read(directory)
    if complete is None:
        raise DovetailError(f"{directory} was generated, but its {MANIFEST} cannot be read back.")
    return complete


def import_duckdb() -> ModuleType:
    """Imports DuckDB, or raises an error that says how to install it: the package itself does not depend on DuckDB."""
    try:
        import duckdb
    except ImportError as missing:
        raise DovetailError(f"the data comes from DuckDB, which is not installed: {_WITH_GENERATORS}.") from missing
    return duckdb


def connect(benchmark: Benchmark, database: Path | None = None) -> DuckDBPyConnection:
    """A DuckDB connection with the benchmark's generator and query texts.

    Raises:
        DovetailError: DuckDB is missing, or this build of it has no generators.
    """
    duckdb = import_duckdb()
    connection: DuckDBPyConnection = duckdb.connect(str(database) if database else ":memory:")
    try:
        connection.execute(f"LOAD {benchmark}")
        # `progress` shows the steps
        connection.execute("SET enable_progress_bar = false")
    except duckdb.Error as error:
        raise DovetailError(
            f"duckdb {duckdb.__version__} as installed has no {benchmark} extension; "
            f"1.1.3 from PyPI has: {_WITH_GENERATORS}."
        ) from error
    return connection


def _read(directory: Path) -> Dataset | None:
    """The data set in this directory; None if there is none in the current format."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if manifest.get("format") != FORMAT:
        return None
    return Dataset(manifest["benchmark"], float(manifest["scale"]), directory, manifest["rows"])


def _generate(benchmark: Benchmark, scale: float, directory: Path, work: Path, show: bool) -> dict[str, int]:
    # A database file rather than memory: the generators are equally fast, and memory does not limit the scale.
    with connect(benchmark, work / "generated.duckdb") as connection:
        title = f"{benchmark} scale {scale:g}"
        with progress(title, 1, show) as shown, shown.step(f"{GENERATORS[benchmark]}, about 20 s per scale factor"):
            connection.execute(f"CALL {GENERATORS[benchmark]}(sf = {scale})")
        tables = [name for (name,) in connection.execute("SHOW TABLES").fetchall()]
        rows = {}
        with progress(title, len(tables), show) as shown:
            for table in tables:
                with shown.step(f"writing {table}"):
                    for old, new in RENAMED_COLUMNS.get((benchmark, table), {}).items():
                        connection.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
                    rows[table] = write_table(connection, table, directory / table)
    return rows


def write_table(connection: DuckDBPyConnection, relation: str, directory: Path) -> int:
    """Writes a table, or a query in parentheses, into a directory as Parquet; returns its number of rows."""
    directory.mkdir(parents=True)
    target = string_literal(str(directory / "part-0.parquet"), Quotes.DOUBLED)
    connection.execute(f"COPY {relation} TO {target} (FORMAT parquet)")
    counted = connection.execute(f"SELECT count(*) FROM {target}").fetchone()
    return int(counted[0]) if counted else 0
