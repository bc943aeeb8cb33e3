"""Queries of `memory`: plain Spark and Dovetail run each of them under the same settings.

There are three kinds. `large` joins the whole payload, which no driver here can broadcast. `selective` keeps few of its
rows, often few enough for a broadcast. `hash` forbids broadcasts; adaptive execution may then hash a side of a shuffled
join.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dovetail_bench.memory_tables import CATEGORIES, DECIMALS, HASHED, MIB, Payload

LARGE = "large"
SELECTIVE = "selective"
HASH_JOIN = "hash"

# Memory of the drivers. With adaptive or static planning, that makes four combinations. The large joins of a table use
# two of them, and its selective joins the other two.
DRIVERS = ("600m", "1g")
SMALL_DRIVER = "600m"
# MiB of a table of the small form: more than a tenth of that driver's heap, which is the limit of a broadcast.
SMALL_MIB = 66

# MiB of rows that a filter keeps. Spark allocates hash tables in powers of two: 7 MiB get 8 MiB, 8 MiB would get 16.
_KEPT_MIB = (0.5, 2, 3.5, 7)

NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


@dataclass(frozen=True)
class Case:
    """A query that plain Spark and Dovetail run as a pair.

    Attributes:
        kind: LARGE, SELECTIVE or HASH_JOIN.
        payload: The table with the payload.
        driver: Memory of the driver, as Spark writes it.
        adaptive: Whether adaptive execution is on.
        shape: Shape of the query: "two" or "three" relations, "left" outer join, "skewed" keys.
        predicate: Predicate on the payload table; empty if all rows are joined.
        collected: Whether Dovetail has collected statistics of the payload table.
    """

    kind: str
    payload: Payload
    driver: str
    adaptive: bool
    shape: str
    predicate: str = ""
    collected: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind} {self.payload.name} {self.driver} {'adaptive' if self.adaptive else 'static'}"

    @property
    def measured_as(self) -> str:
        """Key of the payload input and its size. All shapes of a query read the same columns, so they share it."""
        return f"{self.payload.name} {self.predicate}"

    @property
    def conf(self) -> dict[str, str]:
        adaptive = {"spark.sql.adaptive.enabled": str(self.adaptive).lower()}
        return {**adaptive, **NO_BROADCAST} if self.kind == HASH_JOIN else adaptive

    def sql(self, fact: str = "fact", hint: str = "") -> str:
        """The query. With a hint, and with `probe` as the fact, it shows the size of the payload input."""
        key = "s" if self.shape == "skewed" else "k"
        join = "LEFT JOIN" if self.shape == "left" else "JOIN"
        side = f"(SELECT * FROM {self.payload.name} WHERE {self.predicate})" if self.predicate else self.payload.name
        read = ", ".join(("count(*)", "max(f.a)", "max(f.b)", *_read(self.payload)))
        text = f"SELECT {hint} {read} FROM {fact} f {join} {side} p ON f.{key} = p.{key}"
        return text if self.shape == "two" else f"{text} JOIN dim d ON f.g = d.g WHERE d.n LIKE '1%'"


def _read(payload: Payload) -> Sequence[str]:
    """Expressions over the payload that the query reads: enough to make the join carry the payload."""
    if payload.kind == "decimal":
        return [f"max(p.v{i})" for i in range(1, DECIMALS + 1)]
    return {
        "string": ("max(length(p.v))",),
        "binary": ("max(length(p.v))",),
        "array": ("max(size(p.v))", "max(p.v[0])"),
        "strings": ("max(size(p.v))", "max(p.v[0])"),
        "struct": ("max(p.v.b)", "max(hash(p.v))"),
        "map": ("max(size(p.v))", "max(length(p.v['b']))"),
        "variant": ("max(length(variant_get(p.v, '$.a', 'string')))",),
    }[payload.kind]


def cases(payloads: Sequence[Payload]) -> Iterator[Case]:
    """Yields all cases."""
    for number, payload in enumerate(payloads):
        # parity also changes between the tables of one format, so that a type meets all four combinations
        turn = number // 2 + number
        first, second = (DRIVERS[0], turn % 2 == 0), (DRIVERS[1], turn % 2 == 1)
        shape = ("three", "left", "three", "two")[number // 2 % 4]
        for driver, adaptive in (first, second):
            large = Case(LARGE, payload, driver, adaptive, shape, collected=collected(number))
            yield large
            yield replace(large, kind=SELECTIVE, adaptive=not adaptive, predicate=_predicate(payload, number))
        if payload.content != HASHED:
            yield Case(HASH_JOIN, payload, DRIVERS[number // 2 % 2], True, "skewed" if number % 3 == 0 else "two")


def collected(number: int) -> bool:
    """Whether Dovetail collects statistics of the table with this number: it does of one in four."""
    return number % 4 == 1


def _predicate(payload: Payload, number: int) -> str:
    """A predicate that keeps few rows. Depending on the number, footers, a sample or nothing at all reveal how few.

    It is not on the join key, because that would make the fact equally small.
    """
    kept = _KEPT_MIB[number % len(_KEPT_MIB)] / payload.mebibytes
    rows = max(1, int(payload.rows * kept))
    return (
        f"r < {rows}",
        f"c < {max(1, int(CATEGORIES * kept))}",
        f"t LIKE 'item 1%7{'' if kept > 0.02 else '3'}'",
        f"pmod(hash(r), 1000) < {max(1, int(1000 * kept))}",
        f"r BETWEEN {payload.rows // 2} AND {payload.rows // 2 + rows} AND c % 2 = 0",
        "c IN (3, 77)",
    )[number % 6]


def small(payloads: Sequence[Payload]) -> Iterator[Case]:
    """Yields the cases of the small form: tables of SMALL_MIB."""
    chosen = ("array_hashed_parquet", "string_repeated_parquet", "map_padded_orc")
    by_name = {payload.name: payload for payload in payloads}
    for number, name in enumerate(chosen):
        payload = replace(by_name[name], width=4000, mebibytes=SMALL_MIB)
        large = Case(LARGE, payload, SMALL_DRIVER, number == 1, "three")
        yield large
        yield replace(large, kind=SELECTIVE, adaptive=False, predicate=f"r < {2 * MIB // payload.width}")
