"""Tables of `memory`: a fact, a small table, and payload tables with long values of every type.

A payload table takes 50 to 250 MiB in memory, and less in its files; its content decides how much less. Columns:
`k` unique key, `s` skewed key (half of the rows have one value), `r` number of the row, `c` category, `t` short text,
`w` filler that no query reads, and `v`, the payload (decimals: `v1`, `v2`, …).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20

# Content of a payload. The files of the last two are a fraction of what their rows take in memory.
HASHED = "hashed"  # does not compress, all values differ
PADDED = "padded"  # compresses: a short hash, then one character
REPEATED = "repeated"  # a few long values: dictionary-encoded
CONTENTS = (HASHED, PADDED, REPEATED)

TYPES = ("string", "binary", "array", "strings", "struct", "map", "decimal", "variant")
FORMATS = ("parquet", "orc")

# Number of distinct values of `repeated`: few enough that the longest payloads stay below 1 MiB, where Parquet gives up
# a dictionary.
VALUES = 40
# Share of a padded value that does not compress.
HASHED_SHARE = 0.15
# Characters of one SHA-512, which costs half as much as two SHA-256.
HASH = 128
# Characters of a table's filler. It makes the files of compressible payloads so large that plain Spark does not take
# them for small. Spark's estimate is the size of the compressed files (half for hashes in hexadecimal) times the share
# of columns read (0.4): more than its threshold of 10 MiB.
FILLER = 64 * MIB
# Bytes of one DECIMAL(38, 6) in a row of Spark: 16 for the value, and 8 for its offset.
DECIMAL = 24
DECIMALS = 40

CATEGORIES = 200
# Files of a table.
FILES = 4

FACT_ROWS = 200_000
# Number of keys of the fact, which are spread evenly, and number of rows with the frequent value of the skewed key.
FACT_KEYS = 100_000
FREQUENT_ROWS = 3
DIM_ROWS = 100

FACT_COLUMNS = "f BIGINT, k BIGINT, s BIGINT, g BIGINT, a STRING, b STRING"
DIM_COLUMNS = "g BIGINT, n STRING"


@dataclass(frozen=True)
class Payload:
    """A payload table.

    Attributes:
        kind: One of TYPES.
        content: One of CONTENTS.
        format: One of FORMATS.
        width: Approximate bytes of a payload in memory.
        mebibytes: Approximate MiB of all rows in memory.
    """

    kind: str
    content: str
    format: str
    width: int
    mebibytes: int

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.content}_{self.format}"

    @property
    def rows(self) -> int:
        return self.mebibytes * MIB // self.width

    @property
    def columns(self) -> str:
        """Columns for CREATE TABLE."""
        types = {
            "string": "STRING",
            "binary": "BINARY",
            "array": "ARRAY<DOUBLE>",
            "strings": "ARRAY<STRING>",
            "struct": "STRUCT<a: STRING, b: BIGINT, c: STRUCT<d: BINARY>>",
            "map": "MAP<STRING, STRING>",
            "variant": "VARIANT",
        }
        if self.kind == "decimal":
            payload = ", ".join(f"v{i} DECIMAL(38, 6)" for i in range(1, DECIMALS + 1))
        else:
            payload = f"v {types[self.kind]}"
        return f"k BIGINT, s BIGINT, r BIGINT, c INT, t STRING, w STRING, {payload}"

    @property
    def rows_query(self) -> str:
        """Query that returns the rows, in the order of `columns`."""
        filler = "''" if self.content == HASHED else _hashes("id", FILLER // HASH // self.rows + 1, "w")
        return (
            f"SELECT id AS k, IF(id % 2 = 0, -1, id) AS s, id AS r, CAST(id % {CATEGORIES} AS INT) AS c, "
            f"concat('item ', id) AS t, {filler} AS w, {self._payload()} FROM range(0, {self.rows}, 1, {FILES})"
        )

    def _payload(self) -> str:
        if self.kind == "string":
            return f"{self._text(self.width, 'a')} AS v"
        if self.kind == "binary":
            return f"CAST({self._text(self.width, 'a')} AS BINARY) AS v"
        if self.kind == "array":
            return f"{self._numbers(self.width // 8)} AS v"
        if self.kind == "strings":
            # an element takes 8 bytes more than its characters
            text = self._text(HASH, "a", "concat(i, '/', {id})")
            return f"transform(sequence(1, {self.width // (HASH + 8)}), i -> {text}) AS v"
        half = self.width // 2
        if self.kind == "struct":
            inner = f"named_struct('d', CAST({self._text(half, 'b')} AS BINARY))"
            return f"named_struct('a', {self._text(half, 'a')}, 'b', id, 'c', {inner}) AS v"
        if self.kind == "map":
            return f"map('a', {self._text(half, 'a')}, 'b', {self._text(half, 'b')}) AS v"
        if self.kind == "variant":
            return f"""parse_json(concat('{{"a":"', {self._text(self.width, "a")}, '","b":1}}')) AS v"""
        return ", ".join(f"{self._decimal(i)} AS v{i}" for i in range(1, DECIMALS + 1))

    @property
    def _seed(self) -> str:
        """Expression from which a value is computed."""
        return f"(id % {VALUES})" if self.content == REPEATED else "id"

    def _text(self, length: int, salt: str, seed: str = "{id}") -> str:
        """A text of about this many characters. `{id}` in `seed` stands for the expression that the content allows."""
        seed = seed.format(id=self._seed)
        if self.content != PADDED:
            return _hashes(seed, max(1, length // HASH), salt)
        hashes = max(1, int(length * HASHED_SHARE) // HASH) if length > HASH else 0
        if not hashes:
            return f"concat(substr(sha2(CAST({seed} AS STRING), 512), 1, 8), repeat('x', {length - 8}))"
        return f"concat({_hashes(seed, hashes, salt)}, repeat('x', {length - hashes * HASH}))"

    def _numbers(self, count: int) -> str:
        """An array of this many DOUBLEs."""
        value = f"CAST(hash({self._seed}, i) AS DOUBLE) / 7"
        if self.content == PADDED:
            value = f"IF(i <= {int(count * HASHED_SHARE)}, {value}, 0.5D)"
        return f"transform(sequence(1, {count}), i -> {value})"

    def _decimal(self, column: int) -> str:
        if self.content == PADDED and column > DECIMALS * HASHED_SHARE:
            return "CAST(1.5 AS DECIMAL(38, 6))"
        return f"CAST(CAST(xxhash64({self._seed}, {column}) AS DECIMAL(20, 0)) * 1000003 AS DECIMAL(38, 6))"


def _hashes(seed: str, count: int, salt: str) -> str:
    """This many hashes in one text."""
    if count == 1:
        return f"sha2(concat({seed}, '{salt}'), 512)"
    return f"array_join(transform(sequence(1, {count}), j -> sha2(concat({seed}, '{salt}', j), 512)), '')"


# Bytes of a payload and MiB of a table: some tables have few large rows, others as many small rows as the fact.
_SIZES = ((4000, 150), (8000, 240), (2000, 100), (4000, 200), (800, 120), (8000, 60), (4000, 240), (1200, 180))


def payloads(variant: bool) -> Iterator[Payload]:
    """All payload tables. Spark has VARIANT since 4.0, but not in ORC."""
    number = 0
    for kind in TYPES:
        for content in CONTENTS:
            for form in FORMATS:
                width, mebibytes = _SIZES[number % len(_SIZES)]
                if kind == "decimal":
                    width = DECIMAL * DECIMALS
                if kind != "variant" or (variant and form == "parquet"):
                    yield Payload(kind, content, form, width, mebibytes)
                # 7 and the 8 sizes have no common divisor, so that every type meets many sizes
                number += 7


def create(name: str, columns: str, form: str, directory: Path) -> str:
    """Statement that registers a table, over files that may exist already."""
    location = (directory / name).as_posix().replace("\\", "\\\\").replace("'", "\\'")
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING {form} LOCATION '{location}'"


def known(payload: Payload, directory: Path) -> list[str]:
    """Statements that register the tables of a query."""
    return [
        create("fact", FACT_COLUMNS, "parquet", directory),
        create("probe", FACT_COLUMNS, "parquet", directory),
        create("dim", DIM_COLUMNS, "parquet", directory),
        create(payload.name, payload.columns, payload.format, directory),
    ]


def small_tables() -> list[str]:
    """Statements that fill the tables around the payloads. `probe` is one row of the fact."""
    fact = (
        f"SELECT id AS f, pmod(xxhash64(id), {FACT_KEYS}) AS k, IF(id < {FREQUENT_ROWS}, -1, id) AS s, "
        f"id % {DIM_ROWS} AS g, sha2(CAST(id AS STRING), 256) AS a, sha2(CAST(-id AS STRING), 256) AS b"
    )
    return [
        f"INSERT OVERWRITE fact {fact} FROM range(0, {FACT_ROWS}, 1, {FILES})",
        f"INSERT OVERWRITE probe {fact} FROM range(0, 1)",
        f"INSERT OVERWRITE dim SELECT id AS g, CAST(id AS STRING) AS n FROM range(0, {DIM_ROWS}, 1, 1)",
    ]
