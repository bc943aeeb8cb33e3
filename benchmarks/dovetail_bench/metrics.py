"""Cost of one run of a query, from `DOVETAIL PROFILE`, which also measures plain Spark when Dovetail is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from dovetail import _sql


@dataclass(frozen=True)
class Profile:
    """Measurements of one run.

    Attributes:
        rows: Rows in the answer.
        join_rows: Rows out of all joins that ran.
        shuffle_bytes: Bytes written to shuffles.
        seconds: Wall-clock time, planning included.
        planning_ms: Time to plan, with Dovetail's part.
        dovetail_ms: Part of `planning_ms` that Dovetail's rule takes.
        orders: Join order of each join group.
        digest: Digest of the answer, independent of the order of its rows.
        run_time_orders: Join orders that adaptive execution used in place of the planned ones.
    """

    rows: int
    join_rows: int
    shuffle_bytes: int
    seconds: float
    planning_ms: float
    dovetail_ms: float
    orders: tuple[str, ...]
    digest: dict[str, Any]
    run_time_orders: tuple[str, ...] = ()


def profile(spark: SparkSession, text: str) -> Profile:
    """Runs the query once and reads its counters."""
    found = _sql.profile(spark, text)
    return Profile(
        rows=int(found["rows"]),
        join_rows=int(found["join_rows"]),
        shuffle_bytes=int(found["shuffle_bytes"]),
        seconds=float(found["seconds"]),
        planning_ms=float(found["planning_ms"]),
        dovetail_ms=float(found["dovetail_ms"]),
        orders=tuple(found["orders"]),
        digest=dict(found["digest"]),
        run_time_orders=tuple(found["run_time_orders"]),
    )


def reason(failed: Exception) -> str:
    """First line of an error or, if it has no text, its type: the entry of a query that failed in the results."""
    return (str(failed).strip() or type(failed).__name__).splitlines()[0]
