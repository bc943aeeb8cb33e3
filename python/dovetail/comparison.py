"""`compare`: runs one query with and without Dovetail in one session; compares the answers and the costs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._display import Display, Table, number
from dovetail._query import query_text
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

# Largest allowed difference between two sums of a floating-point column, relative to the sum of absolute values. Such
# sums depend on the order of their terms. Rounding to a few digits and variances of close values amplify the last bits,
# so the tolerance is far above a double's 2e-16.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Run:
    """The measured runs of the query with plain Spark or with Dovetail. None means unknown.

    Attributes:
        rows: Rows in the answer.
        seconds: Wall-clock time of each run.
        planning_ms: Time that Spark took to plan, including Dovetail, in milliseconds (median).
        dovetail_ms: Time that Dovetail's rule took, in milliseconds (median).
        join_rows: Rows that all joins return together (C_out).
        shuffle_bytes: Bytes written to shuffles (median).
        task_seconds: Run time of all tasks together (median).
        gc_seconds: Part of the task time in which their JVMs collected garbage (median).
        spilled_bytes: Bytes that tasks wrote to disks because memory was short (median).
        orders: Join order of each join group, e.g. "((store_sales date_dim) item)".
    """

    rows: int
    seconds: tuple[float, ...]
    planning_ms: float
    dovetail_ms: float
    join_rows: int
    shuffle_bytes: int
    orders: tuple[str, ...]
    task_seconds: float | None = None
    gc_seconds: float | None = None
    spilled_bytes: float | None = None

    @property
    def median_seconds(self) -> float:
        """Median wall-clock time of the runs."""
        return median(self.seconds)

    def to_dict(self) -> dict[str, Any]:
        """The values as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {**asdict(self), "seconds": list(self.seconds), "orders": list(self.orders)}


@dataclass(frozen=True, repr=False)
class Comparison(Display):
    """The runs with plain Spark and with Dovetail side by side. A prompt, `print` and a notebook show a table.

    Attributes:
        sql: The text of the query; None for a DataFrame.
        plain: The runs with `spark.dovetail.enabled=false`.
        dovetail: The runs with `spark.dovetail.enabled=true`.
        differences: Differences between the answers, as text; empty if the answers are the same.
        not_compared: Names of the columns of which only the NULLs were compared: maps, variants, and arrays and structs
            of floating-point numbers.
        warmed: Whether a round ran before the measured ones.
    """

    sql: str | None
    plain: Run
    dovetail: Run
    differences: tuple[str, ...]
    not_compared: tuple[str, ...] = ()
    warmed: bool = False

    @property
    def same_answer(self) -> bool:
        """Whether both returned the same rows in any order, with floating-point sums within the tolerance."""
        return not self.differences

    @property
    def speedup(self) -> float:
        """Median time of plain Spark divided by that of Dovetail; above 1, Dovetail is faster."""
        return self.plain.median_seconds / self.dovetail.median_seconds

    @property
    def reordered(self) -> bool:
        """Whether the join orders of the two differ."""
        return self.plain.orders != self.dovetail.orders

    def to_dict(self) -> dict[str, Any]:
        """The values as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        runs = {"plain": self.plain.to_dict(), "dovetail": self.dovetail.to_dict()}
        verdict = {"same_answer": self.same_answer, "speedup": self.speedup, "reordered": self.reordered}
        answers = {"differences": list(self.differences), "not_compared": list(self.not_compared)}
        return {"sql": self.sql, **runs, **answers, **verdict}

    def _blocks(self) -> list[str | Table]:
        plain, ours = self.plain, self.dovetail
        cells = [
            _cells("seconds", plain.median_seconds, ours.median_seconds, ",.2f"),
            _cells("task seconds", plain.task_seconds, ours.task_seconds, ",.2f"),
            _cells("GC seconds", plain.gc_seconds, ours.gc_seconds, ",.2f"),
            _cells("join rows", plain.join_rows, ours.join_rows, ","),
            _cells("shuffled bytes", plain.shuffle_bytes, ours.shuffle_bytes, ","),
            _cells("spilled bytes", plain.spilled_bytes, ours.spilled_bytes, ",.0f"),
            _cells("planning ms", plain.planning_ms, ours.planning_ms, ",.0f"),
            (*_cells("rows", plain.rows, ours.rows, ",")[:3], ""),
        ]
        rounds = len(plain.seconds)
        if rounds > 1:
            measured = f"medians of {rounds} runs each, in turns"
        elif self.warmed:
            measured = "one run each after a warm-up, plain Spark first; runs=3 compares medians"
        else:
            measured = (
                "one run each, Dovetail first: the first run is slower because caches are cold; runs=3 compares medians"
            )
        return [
            Table(("", "plain Spark", "Dovetail", "ratio"), cells, right={1, 2, 3}),
            measured,
            *(f"order, plain Spark: {order}" for order in plain.orders),
            *(f"order, Dovetail:    {order}" for order in ours.orders),
            *([f"values not compared, only NULLs: {', '.join(self.not_compared)}"] if self.not_compared else []),
            "same answer" if self.same_answer else "DIFFERENT ANSWERS: " + "; ".join(self.differences),
        ]


def compare(
    spark: SparkSession, sql: DataFrame | str, *, runs: int = 1, warmup: bool = False, tolerance: float = TOLERANCE
) -> Comparison:
    """Runs a query with and without Dovetail, and compares answers, times, join rows, shuffles, spills and GC.

    Join rows are the rows that all joins of the query return together. The query runs in rounds, once with Dovetail and
    once with plain Spark per round. Dovetail runs first in the first round, plain Spark in the second, and so on. A
    change in the speed of the machine therefore affects both, and the overhead of the very first run (class loading,
    code generation, file caches) does not count against plain Spark. By default, there is one round, which is two runs
    of the query.

    The answers stay on the server; only their digests are compared. They do not cover the values of maps and variants,
    nor those of floating-point numbers inside of arrays and structs; the result names such columns. The answers of
    queries without a fixed answer (a LIMIT without a complete ORDER BY, rand()) may differ without an error.

    Args:
        spark: A session with Dovetail, classic or Connect. The call changes `spark.dovetail.enabled` for the runs and
            restores it.
        sql: A query, as SQL text or a DataFrame.
        runs: Number of rounds; the medians are compared. With 3 or more, the slow first run hardly affects the medians.
        warmup: Whether to run one round before the measurement.
        tolerance: Largest allowed difference between the sums of a floating-point column, relative to the sum of its
            absolute values.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: `sql` is neither text nor a DataFrame, `runs` is below 1, or `tolerance` is below 0.
        pyspark.errors.PySparkException: The query is wrong or fails; this is Spark's own error.

    Example::

        result = dovetail.compare(spark, Path("q72.sql").read_text(), runs=3)
        assert result.same_answer
        print(result)
    """
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise StatementError(f"runs={runs!r} is not allowed: give a whole number, at least 1.")
    if not isinstance(tolerance, (int, float)) or not tolerance >= 0.0:
        raise StatementError(f"tolerance={tolerance!r} is not allowed: give a number, 0 or more.")
    reports: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    with query_text(sql, spark, "compare") as (session, text):
        _sql.require_dovetail(session)
        for at in range(runs + (1 if warmup else 0)):
            first = at % 2 == 0
            for enabled in (first, not first):
                with _sql.switched(session, enabled):
                    report = _sql.profile(session, text)
                if at > 0 or not warmup:
                    reports[enabled].append(report)
    plain, ours = reports[False], reports[True]
    found = [
        difference
        for a, b in zip(plain, ours, strict=True)
        for difference in differences(a["digest"], b["digest"], tolerance)
    ]
    # a jar that is older than this package does not tell
    unseen = tuple(ours[-1]["digest"].get("not_compared", ()))
    said = tuple(dict.fromkeys(found))
    return Comparison(sql if isinstance(sql, str) else None, run_of(plain), run_of(ours), said, unseen, warmup)


def differences(plain: Mapping[str, Any], ours: Mapping[str, Any], tolerance: float = TOLERANCE) -> list[str]:
    """The differences between the digests of two answers, as text.

    A digest is `{"rows": n, "hash": text, "sums": {column index: [sum, sum of absolute values]}}`. The hash covers
    every column that is not floating point, and the NULL, NaN and infinite values of the others, which are in no sum.
    It does not depend on the order of the rows.

    Args:
        plain: The digest of the answer of plain Spark.
        ours: The digest of the answer with Dovetail.
        tolerance: Largest allowed difference between the two sums of a floating-point column, as a share of the larger
            sum of absolute values: 0 allows none, 0.01 one percent.

    Returns:
        One sentence per difference; an empty list if the answers are the same.
    """
    found = []
    if plain["rows"] != ours["rows"]:
        found.append(f"{plain['rows']:,} rows without, {ours['rows']:,} with Dovetail")
    if plain["hash"] != ours["hash"]:
        found.append("values of columns that are not floating point, or NULL, NaN or infinite values, differ")
    for index in sorted({*plain["sums"], *ours["sums"]}, key=int):
        a, b = plain["sums"].get(index), ours["sums"].get(index)
        if a is None or b is None or not _close(a, b, tolerance):
            found.append(
                f"sum of floating-point column {int(index) + 1}: {a and a[0]} without, {b and b[0]} with Dovetail"
            )
    return found


def _close(a: Sequence[float], b: Sequence[float], tolerance: float) -> bool:
    (sum_a, size_a), (sum_b, size_b) = (tuple(float(number) for number in pair) for pair in (a, b))
    if not (math.isfinite(size_a) and math.isfinite(size_b)):
        return str(sum_a) == str(sum_b) and str(size_a) == str(size_b)
    scale = tolerance * max(size_a, size_b)
    return abs(sum_a - sum_b) <= scale and abs(size_a - size_b) <= scale


def run_of(reports: Sequence[Mapping[str, Any]]) -> Run:
    """The `Run` from the reports of `DOVETAIL PROFILE` on one or more runs of the same kind."""
    last = reports[-1]
    return Run(
        rows=last["rows"],
        seconds=tuple(report["seconds"] for report in reports),
        planning_ms=median(report["planning_ms"] for report in reports),
        dovetail_ms=median(report["dovetail_ms"] for report in reports),
        join_rows=last["join_rows"],
        shuffle_bytes=round(median(report["shuffle_bytes"] for report in reports)),
        orders=tuple(last["orders"]),
        task_seconds=_median(reports, "task_seconds"),
        gc_seconds=_median(reports, "gc_seconds"),
        spilled_bytes=_median(reports, "spilled_bytes"),
    )


def _median(reports: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """The median; None if a run does not report the value, or if the jar is older than this package."""
    found = [report.get(key) for report in reports]
    return None if None in found else median(value for value in found if value is not None)


def _cells(name: str, plain: float | None, ours: float | None, form: str) -> tuple[str | None, ...]:
    ratio = f"{ours / plain:.2f}" if plain and ours is not None else None
    return (name, number(plain, form), number(ours, form), ratio)
