"""Views over files, from --view: NAME=PATH is one view; PATH alone is a folder of tables, with one view per table.

A table is a file or a folder of files. Folders are listed on this machine only; elsewhere, each table needs NAME=PATH.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail import _sql
from dovetail._identifiers import quote
from dovetail._spark_errors import is_unreadable, reason
from dovetail.cli.words import WrongWordsError
from dovetail.errors import DovetailError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's format by the suffix of a file name. If no suffix is known, the format is Parquet.
_FORMATS = {".parquet": "parquet", ".orc": "orc", ".json": "json", ".csv": "csv"}

# Suffixes of compressed text files, after that of the format.
_COMPRESSED = (".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".zst")

# Prefix of the files that Spark writes: a folder of such files is one table.
_PART = "part-"

# Characters that Spark's reader takes for a pattern of paths.
_PATTERN = re.compile(r"([{}\[\]*?\\])")


@dataclass(frozen=True)
class View:
    """A view to create.

    Attributes:
        name: Its name.
        path: The file or folder.
        format: The format that Spark reads it with.
    """

    name: str
    path: str
    format: str


def wanted(words: Sequence[str]) -> list[View]:
    """The views that --view names.

    Raises:
        WrongWordsError: An argument is neither NAME=PATH nor a folder with tables.
    """
    return [view for word in words for view in _views(word)]


def create(spark: SparkSession, view: View) -> None:
    """Creates a temporary view.

    Raises:
        DovetailError: Spark cannot read the files in this format; its own message does not name them.
    """
    options = {"path": view.path, **({"header": "true", "inferSchema": "true"} if view.format == "csv" else {})}
    told = ", ".join(f"{key} {_sql.text_literal(spark, value)}" for key, value in options.items())
    try:
        _sql.rows(spark, f"CREATE TEMPORARY VIEW {quote(view.name)} USING {view.format} OPTIONS ({told})")
    except Exception as error:
        if not is_unreadable(error):
            raise
        raise DovetailError(
            f"--view: Spark finds no table of format {view.format} at {view.path}. If it is no table, name the tables "
            f"one by one: --view NAME=PATH. Spark says: {reason(error)}"
        ) from error


def _views(word: str) -> list[View]:
    name, _, path = word.partition("=")
    if name and path and "/" not in name:
        return [View(name, path, _format(Path(path)))]
    folder = Path(word)
    if not folder.is_dir():
        raise WrongWordsError(
            f"argument --view: {word!r} is neither NAME=PATH, such as sales=/data/sales.parquet, nor a folder of tables"
        )
    found = [View(_named(table)[0], _exact(local_url(table)), _format(table)) for table in _tables(folder)]
    if not found:
        raise WrongWordsError(
            f"argument --view: the folder {word} has no tables. If its files form one table, write --view NAME={word}"
        )
    return found


def local_url(file: Path) -> str:
    """A file of this machine for Hadoop, whose default file system may be another one.

    Hadoop does not decode URLs: a blank stays a blank.

    >>> local_url(Path("/data/my rows.json"))
    'file:///data/my rows.json'
    """
    return "file:///" + file.absolute().as_posix().lstrip("/")


def _exact(path: str) -> str:
    r"""A path that Spark's reader takes as it is, not for a pattern of other paths.

    >>> print(_exact("file:///data/a[1].csv"))
    file:///data/a\[1\].csv
    """
    return _PATTERN.sub(r"\\\1", path)


def _tables(folder: Path) -> Iterator[Path]:
    """Files and folders in a folder that may be tables: not hidden ones, and no partitions or parts of one table."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "_", _PART)) or (entry.is_dir() and "=" in entry.name):
            continue
        if entry.is_dir() or _named(entry)[1] is not None:
            yield entry


def _named(path: Path) -> tuple[str, str | None]:
    """The name of a file or folder without known suffixes, and the format by its suffix; None if no suffix is known.

    >>> _named(Path("a.b.csv.gz")), _named(Path("sales.2024"))
    (('a.b', 'csv'), ('sales.2024', None))
    """
    plain = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    format = _FORMATS.get(plain.suffix.lower())
    return (path.name if format is None else plain.stem), format


def _format(path: Path) -> str:
    """The format, by the suffix of a file or folder, or else by that of the first file in the folder."""
    inside = (_named(file)[1] for file in chain((path,), path.rglob("*")))
    return next((format for format in inside if format is not None), "parquet")
