"""Query texts in Spark's dialect, read at run time from the tests jar that Apache Spark publishes; none are kept here.

Maven fetches the jar once; it is unpacked into the cache directory. A `Query` also knows the parts of its text that
decide which differences of an answer are legitimate: its outermost ORDER BY and LIMIT.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dovetail.demo.data import Benchmark, cache_root
from dovetail.errors import DovetailError

# Version of the tests jar. All Spark lines use the same one, so that every line runs the same texts.
SPARK_VERSION = "4.1.3"

# Suite → folder in the jar, and the data that its queries read.
FOLDERS: dict[str, tuple[str, Benchmark]] = {
    "tpcds": ("tpcds", "tpcds"),
    "tpcds-v2.7": ("tpcds-v2.7.0", "tpcds"),
    "tpch": ("tpch", "tpch"),
}

# The Star Schema Benchmark, which has a separate command (star_schemas), and data made from TPC-H's.
SSB = "ssb"
_IN_JAR = {**{suite: folder for suite, (folder, _) in FOLDERS.items()}, SSB: "ssb"}


@dataclass(frozen=True)
class Query:
    """A query of a suite, with its name there ("q14a")."""

    suite: str
    name: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """Suite and name, which are the key of lists of exceptions."""
        return self.suite, self.name

    @property
    def has_limit(self) -> bool:
        """Whether the outermost clause is a LIMIT."""
        return self.limit is not None

    @property
    def limit(self) -> int | None:
        """Number of the outermost LIMIT, or None without one."""
        found = _LIMIT.search(self.text)
        return int(found[1]) if found else None

    def without_limit(self) -> str:
        """The text without its outermost LIMIT: all rows among which the limited query may choose."""
        return _LIMIT.sub("", self.text)

    def order_by(self) -> list[str]:
        """Items of the outermost ORDER BY, without direction; empty if the rows may come in any order."""
        body = self.without_limit()
        starts = [m for m in _ORDER_BY.finditer(body) if _depth(body[: m.start()]) == 0]
        if not starts or _depth(body[starts[-1].end() :]) != 0:
            return []
        return [_DIRECTION.sub("", item).strip() for item in _split(body[starts[-1].end() :])]


_LIMIT = re.compile(r"\blimit\s+(\d+)\s*;?\s*\Z", re.IGNORECASE)
_ORDER_BY = re.compile(r"\border\s+by\b", re.IGNORECASE)
_DIRECTION = re.compile(r"\s+(asc|desc)?\s*(nulls\s+(first|last))?\s*;?\s*\Z", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*")


def load(suite: str, names: Iterable[str] = (), cache: Path | None = None) -> list[Query]:
    """All queries of the suite in their natural order (q2 before q10), or the named ones."""
    if suite not in _IN_JAR:
        raise DovetailError(f"no query suite {suite!r}; there are {', '.join(_IN_JAR)}")
    texts_of_all = unpacked(cache or cache_root(), "query-texts", SPARK_VERSION, _IN_JAR.values(), (".sql",))
    directory = texts_of_all / _IN_JAR[suite]
    texts = {p.stem: _COMMENT.sub("", p.read_text(encoding="utf-8")).strip() for p in directory.glob("*.sql")}
    return chosen(suite, {name: texts[name] for name in sorted(texts, key=_natural)}, names)


def chosen(suite: str, texts: Mapping[str, str], names: Iterable[str] = ()) -> list[Query]:
    """All queries of a suite in the order of `texts` (name → text), or the named ones."""
    wanted = list(names) or list(texts)
    unknown = [name for name in wanted if name not in texts]
    if unknown:
        raise DovetailError(f"{suite} has no {', '.join(unknown)}; it has {', '.join(texts)}")
    return [Query(suite, name, texts[name]) for name in wanted]


def unpacked(cache: Path, name: str, version: str, folders: Iterable[str], endings: tuple[str, ...]) -> Path:
    """Unpacks these folders of the tests jar of this version into a folder of the cache with this name."""
    directory = cache / name / version
    if directory.is_dir():
        return directory
    artifact = _artifact(version)
    maven = shutil.which("mvn")
    if maven is None:
        raise DovetailError(
            f"the query texts come with the Maven artifact {artifact}, and mvn is not on the PATH: install it "
            "(apt-get install maven, brew install maven)"
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=directory.parent) as work:
        command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={work}"]
        fetched = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        jars = list(Path(work).glob("*.jar"))
        if fetched.returncode != 0 or len(jars) != 1:
            raise DovetailError(f"could not fetch {artifact}: {(fetched.stdout + fetched.stderr).strip()[-2000:]}")
        made = Path(work) / "made"
        with zipfile.ZipFile(jars[0]) as jar:
            wanted = tuple(folder + "/" for folder in folders)
            jar.extractall(made, [n for n in jar.namelist() if n.startswith(wanted) and n.endswith(endings)])
        try:
            made.rename(directory)
        except OSError:
            if not directory.is_dir():
                raise
    return directory


def _artifact(version: str) -> str:
    return f"org.apache.spark:spark-sql_2.13:{version}:jar:tests"


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(digits or 0), letters) for digits, letters in re.findall(r"(\d*)(\D*)", name)]


def _depth(text: str) -> int:
    return text.count("(") - text.count(")")


def _split(text: str) -> list[str]:
    """Splits a text at the commas outside of parentheses."""
    items, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
    return [item.strip() for item in [*items, text[start:]] if item.strip()]
