"""`compare`: runs one query with and without Dovetail in one session; compares the answers and the costs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._query import query_text
from dovetail._table_text import table_text
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

# Floating sums depend on the order of their terms; sums of columns may differ by this part of the sum of absolute
# values. Rounding to a few digits and variances of close values amplify the last bits, hence the distance to a double's
# 2e-16.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Run:
    """One way of running the query: plain Spark, or Dovetail.

    Attributes:
        rows: Rows in the answer.
        seconds: Wall-clock time of each run.
        planning_ms: Time that Spark took to plan, including Dovetail, in milliseconds (median).
        dovetail_ms: Time that Dovetail's rule took, in milliseconds (median).
        join_rows: Rows that all joins return together (C_out).
        shuffle_bytes: Bytes written to shuffles.
        orders: Join order of each join group, e.g. "((store_sales date_dim) item)".
    """

    rows: int
    seconds: tuple[float, ...]
    planning_ms: float
    dovetail_ms: float
    join_rows: int
    shuffle_bytes: int
    orders: tuple[str, ...]

    @property
    def median_seconds(self) -> float:
        """Median wall-clock time of the runs."""
        return median(self.seconds)

    def to_dict(self) -> dict[str, Any]:
        """The values as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {**asdict(self), "seconds": list(self.seconds), "orders": list(self.orders)}


@dataclass(frozen=True)
class Comparison:
    """Plain Spark and Dovetail side by side. `print` shows a table.

    Attributes:
        sql: The text of the query; None for a DataFrame.
        plain: The runs with `spark.dovetail.enabled=false`.
        dovetail: The runs with `spark.dovetail.enabled=true`.
        differences: Differences between the answers, as text; empty if the answers are the same.
    """

    sql: str | None
    plain: Run
    dovetail: Run
    differences: tuple[str, ...]

    @property
    def same_answer(self) -> bool:
        """Whether both returned the same rows in any order, with floating-point columns within the tolerance."""
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
        return {"sql": self.sql, **runs, "differences": list(self.differences), **verdict}

    def __str__(self) -> str:
        plain, ours = self.plain, self.dovetail
        cells = [
            (
                "seconds",
                f"{plain.median_seconds:.2f}",
                f"{ours.median_seconds:.2f}",
                _ratio(ours.median_seconds, plain.median_seconds),
            ),
            ("join rows", f"{plain.join_rows:,}", f"{ours.join_rows:,}", _ratio(ours.join_rows, plain.join_rows)),
            (
                "shuffled bytes",
                f"{plain.shuffle_bytes:,}",
                f"{ours.shuffle_bytes:,}",
                _ratio(ours.shuffle_bytes, plain.shuffle_bytes),
            ),
            (
                "planning ms",
                f"{plain.planning_ms:.0f}",
                f"{ours.planning_ms:.0f}",
                _ratio(ours.planning_ms, plain.planning_ms),
            ),
            ("rows", f"{plain.rows:,}", f"{ours.rows:,}", ""),
        ]
        lines = [table_text(("", "plain Spark", "Dovetail", "ratio"), cells, right={1, 2, 3})]
        lines += [f"order, plain Spark: {order}" for order in plain.orders] + [
            f"order, Dovetail:    {order}" for order in ours.orders
        ]
        lines.append("same answer" if self.same_answer else "DIFFERENT ANSWERS: " + "; ".join(self.differences))
        return "\n".join(lines)


def compare(
    spark: SparkSession, sql: DataFrame | str, *, warmup: bool = True, repeat: int = 1, tolerance: float = TOLERANCE
) -> Comparison:
    """Runs a query without and with Dovetail, and compares answers, times, join rows and shuffled bytes.

    Join rows are the rows that all joins of the query return together. The runs alternate, so a change in the speed of
    the machine affects both. The answers stay on the server; only their digests are compared. Queries without a fixed
    answer (a LIMIT without a complete ORDER BY, rand()) may differ without a fault.

    Args:
        spark: A session with Dovetail, classic or Connect. The call changes `spark.dovetail.enabled` for the runs and
            restores it.
        sql: A query, as SQL text or a DataFrame.
        warmup: Whether to run the query once each way before measuring (class loading, code generation, file caches).
        repeat: Number of measured runs each way; the medians are compared.
        tolerance: Largest allowed difference between the sums of a floating-point column, relative to the sum of its
            absolute values.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: `sql` is neither text nor a DataFrame, or `repeat` is below 1.
        pyspark.errors.PySparkException: The query is wrong or fails; this is Spark's own error.

    Example::

        result = dovetail.compare(spark, Path("q72.sql").read_text(), repeat=3)
        assert result.same_answer
        print(result)
    """
    if repeat < 1:
        raise StatementError(f"repeat={repeat} is not allowed: give a whole number, at least 1.")
    reports: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    with query_text(sql, spark, "compare") as (session, text):
        for number in range(repeat + (1 if warmup else 0)):
            for enabled in (False, True):
                with _sql.settings(session, {_sql.ENABLED_KEY: "true" if enabled else "false"}):
                    report = _sql.profile(session, text)
                if number > 0 or not warmup:
                    reports[enabled].append(report)
    plain, ours = reports[False], reports[True]
    found = [
        difference
        for a, b in zip(plain, ours, strict=True)
        for difference in differences(a["digest"], b["digest"], tolerance)
    ]
    return Comparison(sql if isinstance(sql, str) else None, run_of(plain), run_of(ours), tuple(dict.fromkeys(found)))


def differences(plain: Mapping[str, Any], ours: Mapping[str, Any], tolerance: float = TOLERANCE) -> list[str]:
    """The differences between the digests of two answers, as text.

    A digest is `{"rows": n, "hash": text, "sums": {column index: [sum, sum of absolute values]}}`. The hash covers
    every column that is not floating point; it does not depend on the order of the rows.
    """
    found = []
    if plain["rows"] != ours["rows"]:
        found.append(f"{plain['rows']:,} rows without, {ours['rows']:,} with Dovetail")
    if plain["hash"] != ours["hash"]:
        found.append("values of columns that are not floating point differ")
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
    """What `DOVETAIL PROFILE` reported of one or more runs in the same way."""
    last = reports[-1]
    return Run(
        rows=last["rows"],
        seconds=tuple(report["seconds"] for report in reports),
        planning_ms=median(report["planning_ms"] for report in reports),
        dovetail_ms=median(report["dovetail_ms"] for report in reports),
        join_rows=last["join_rows"],
        shuffle_bytes=last["shuffle_bytes"],
        orders=tuple(last["orders"]),
    )


def _ratio(ours: float, plain: float) -> str:
    return f"{ours / plain:.2f}" if plain else "-"
