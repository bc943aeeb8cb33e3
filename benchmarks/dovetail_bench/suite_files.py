"""Spark's own SQL suites, read at run time from the tests jar that Apache Spark publishes; no text is kept here.

A file is a list of statements with instructions in its comments, which this module reads as Spark's SQLQueryTestSuite
does. `--SET` lines are settings of the whole file. `--CONFIG_DIM` lines are settings, and each combination of them is a
run. `--IMPORT` puts the statements of another file in front. The text between `--QUERY-DELIMITER-START` and `-END` is
one statement. `--ONLY_IF` chooses among database systems; Spark runs all files.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.version import __version__ as pyspark_version

from dovetail.demo.data import cache_root
from dovetail.errors import DovetailError
from dovetail.jars import parse_line, supported_lines
from dovetail_bench.queries import unpacked

INPUTS = "sql-tests/inputs"
DATA = "test-data/postgresql"

# Folders whose files call functions that Spark's test classes register.
NEED_TEST_FUNCTIONS = ("udf/", "udaf/", "udtf/")

# Settings of code generation affect no plan, and multiply the runs.
_OF_NO_INTEREST = "spark.sql.codegen."

# Settings of the files in a folder, in addition to those that the files set.
_OF_FOLDERS = {
    "nonansi/": {"spark.sql.ansi.enabled": "false"},
    "ansi/": {"spark.sql.ansi.enabled": "true"},
    "timestampNTZ/": {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
}

_SEMICOLON = re.compile(r"(?<=[^\\]);")
_JOINS = re.compile(
    r"\bjoin\b|\blateral\b|\bexists\s*\(|\(\s*(?:select|with|values|from|table)\b|"
    r"\bfrom\s+[\w.]+(?:\s+(?:as\s+)?\w+)?\s*,",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SuiteFile:
    """A file of the suites.

    Attributes:
        name: Path below the folder of inputs.
        statements: Statements in their order.
        runs: Settings of each run; there is at least one.
    """

    name: str
    statements: tuple[str, ...]
    runs: tuple[dict[str, str], ...]


def directory() -> Path:
    """Folder in the cache with the unpacked suites of the Spark line in use."""
    running = parse_line(pyspark_version)
    versions = [line.built_for for line in supported_lines() if (line.major, line.minor) == running]
    if not versions:
        raise DovetailError(f"there is no jar for Spark {pyspark_version}")
    return unpacked(cache_root(), "suites", versions[0], (INPUTS, DATA), (".sql", ".data"))


def load(suites: Path, names: Sequence[str] = ()) -> list[SuiteFile]:
    """All files that have joins or subqueries and need no test functions, or the named ones."""
    inputs = suites / INPUTS
    paths = sorted(path.relative_to(inputs).as_posix() for path in inputs.rglob("*.sql"))
    wanted = list(names) or [
        name
        for name in paths
        if not name.startswith(NEED_TEST_FUNCTIONS) and _JOINS.search("\n".join(_parts(inputs / name)[1]))
    ]
    unknown = [name for name in wanted if name not in paths]
    if unknown:
        raise DovetailError(f"the suites have no {', '.join(unknown)}")
    return [_read(inputs, name) for name in wanted]


def left_out(suites: Path) -> int:
    """Number of files with joins or subqueries that are not run because they need test functions."""
    inputs = suites / INPUTS
    names = (path.relative_to(inputs).as_posix() for path in inputs.rglob("*.sql"))
    return sum(
        name.startswith(NEED_TEST_FUNCTIONS) and bool(_JOINS.search("\n".join(_parts(inputs / name)[1])))
        for name in names
    )


def _read(inputs: Path, name: str) -> SuiteFile:
    comments, code = _parts(inputs / name)
    imported = [line.removeprefix("--IMPORT ").strip() for line in comments if line.startswith("--IMPORT ")]
    before = [line for other in imported for line in _parts(inputs / other)[1]]
    settings: dict[str, str] = {}
    for folder, values in _OF_FOLDERS.items():
        if name.startswith(folder):
            settings |= values
    for line in comments:
        if line.startswith("--SET "):
            settings |= _settings(line.removeprefix("--SET "))
    return SuiteFile(name, tuple(_statements([*before, *code])), tuple(_runs(settings, comments)))


def _parts(path: Path) -> tuple[list[str], list[str]]:
    """Comments of a file, and its other lines."""
    comments, code = [], []
    for line in path.read_text(encoding="utf-8").split("\n"):
        stripped = line.strip()
        if stripped.startswith("--") and not stripped.startswith("--QUERY-DELIMITER"):
            comments.append(stripped)
        else:
            code.append(line)
    return comments, code


def _settings(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(","))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _runs(settings: dict[str, str], comments: Sequence[str]) -> Iterator[dict[str, str]]:
    """Every combination of one line of each dimension. Combinations that differ only in code generation count once."""
    dimensions: dict[str, list[dict[str, str]]] = {}
    for line in comments:
        if line.startswith("--CONFIG_DIM"):
            dimension, _, text = line.partition(" ")
            chosen = {k: v for k, v in _settings(text).items() if not k.startswith(_OF_NO_INTEREST)}
            values = dimensions.setdefault(dimension, [])
            if chosen not in values:
                values.append(chosen)
    seen: list[dict[str, str]] = []
    for combination in itertools.product(*dimensions.values()):
        together = dict(settings)
        for chosen in combination:
            together |= chosen
        if together not in seen:
            seen.append(together)
            yield together


def _statements(code: Sequence[str]) -> Iterator[str]:
    texts: list[str] = []
    outside: list[str] = []
    inside: list[str] | None = None
    for line in code:
        marker = line.strip()
        if marker.startswith("--QUERY-DELIMITER-START"):
            texts += _SEMICOLON.split("\n".join(outside))
            outside, inside = [], []
        elif marker.startswith("--QUERY-DELIMITER-END"):
            texts.append("\n".join(inside or []).strip().removesuffix(";"))
            inside = None
        elif inside is not None:
            inside.append(line)
        else:
            outside.append(line)
    texts += _SEMICOLON.split("\n".join(outside))
    for text in texts:
        without_comments = "\n".join(line for line in text.strip().split("\n") if not line.startswith("--")).strip()
        if without_comments:
            yield without_comments
