"""`dovetail.queries`: what Dovetail did with the last queries of a session, and how they ran."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from dovetail import _sql
from dovetail._display import Listing, number, time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class LoggedQuery:
    """A query that Dovetail planned; None means unknown.

    Attributes:
        id: Number of the query; `dovetail.explain(id, spark)` explains it.
        optimized_at: Time of planning, in the time zone of the Python process.
        query: Text of the query; None for a DataFrame.
        groups: Number of join groups.
        reordered: Number of join groups whose order changed.
        predicted_gain: Share of the estimated cost of the written order that the plan saves.
        dovetail_ms: Time that Dovetail took, in milliseconds.
        runs: Number of runs.
        seconds: Duration of the last run.
        estimated_join_rows: Estimated number of rows that all joins return together (C_out).
        join_rows: Counted number of rows that all joins return together.
        worst_q_error: Largest q-error of the joins.
        seen_gain: Share of the join rows of the written order that the plan saved.
    """

    HEADER: ClassVar[tuple[str, ...]] = (
        "id",
        "planned",
        "query",
        "groups",
        "reordered",
        "predicted gain",
        "Dovetail ms",
        "runs",
        "seconds",
        "join rows",
        "worst q-error",
        "seen gain",
    )
    RIGHT: ClassVar[frozenset[int]] = frozenset({0, 3, 4, 5, 6, 7, 8, 9, 10, 11})

    id: int
    optimized_at: datetime
    query: str | None
    groups: int
    reordered: int
    predicted_gain: float | None
    dovetail_ms: float
    runs: int
    seconds: float | None
    estimated_join_rows: float
    join_rows: int | None
    worst_q_error: float | None
    seen_gain: float | None

    def _cells(self) -> tuple[str | None, ...]:
        planned, gain = number(self.dovetail_ms, ".0f"), number(self.predicted_gain, ".1%")
        ran = (str(self.runs), number(self.seconds, ".2f"), number(self.join_rows))
        seen = (number(self.worst_q_error, ",.1f"), number(self.seen_gain, ".1%"))
        groups = (str(self.groups), str(self.reordered))
        return (str(self.id), time(self.optimized_at), self.query, *groups, gain, planned, *ran, *seen)


def queries(spark: SparkSession) -> Listing[LoggedQuery]:
    """The last queries of a session whose joins Dovetail looked at, oldest first.

    These are queries with a join group of three or more relations, or with a join of two whose plan Dovetail changed.

    Args:
        spark: A session with Dovetail, classic or Connect.

    Returns:
        A tuple with one entry per query; a prompt and a notebook show it as a table. All runs that
        have ended are in it, unless Spark reports one more than two seconds late.

    Raises:
        NotEnabledError: The session does not have Dovetail.

    Example::

        last = dovetail.queries(spark)[-1]
        print(dovetail.explain(last.id, spark))
    """
    return Listing(_sql.records(spark, "dovetail_queries", LoggedQuery))
