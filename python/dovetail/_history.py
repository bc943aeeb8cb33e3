"""`dovetail.history`: row counts of sub-plans from past queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from dovetail import _sql
from dovetail._display import Listing, number, time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SubplanHistory:
    """One entry of the history: a sub-plan (an input or a join) of a group of joins.

    Attributes:
        kind: "counted" for the row count of a run with the same constants over the same data; "corrected" for a factor
            that corrects the estimates of groups that differ only in constants.
        query_group: Key of the group of joins: a hash of its canonical form.
        relations: Tables that the sub-plan reads.
        rows: Rows that were counted; None if it is "corrected".
        estimated_rows: The estimate from statistics alone; None if it is "corrected".
        factor: The factor that corrects estimates; None if it is "counted".
        lower_factor: Lower end of the interval that contains the factor in 95 of 100 cases; None if it is "counted".
        upper_factor: Upper end of this interval; None if it is "counted".
        runs: Number of runs of the group.
        orders: Number of join orders that have run; None if it is "corrected".
        last_run: Time of the last run, in the time zone of the Python process.
    """

    HEADER: ClassVar[tuple[str, ...]] = (
        "kind",
        "group",
        "relations",
        "rows",
        "estimated",
        "factor",
        "runs",
        "last run",
    )
    RIGHT: ClassVar[frozenset[int]] = frozenset({3, 4, 5, 6})

    kind: str
    query_group: str
    relations: tuple[str, ...]
    rows: int | None
    estimated_rows: float | None
    factor: float | None
    lower_factor: float | None
    upper_factor: float | None
    runs: int
    orders: int | None
    last_run: datetime

    def _cells(self) -> tuple[str | None, ...]:
        counts = (number(self.rows), number(self.estimated_rows, ",.0f"), number(self.factor, ".3g"))
        of = (self.kind, self.query_group, ", ".join(self.relations))
        return (*of, *counts, str(self.runs), time(self.last_run))


def history(spark: SparkSession) -> Listing[SubplanHistory]:
    """The history of queries, newest first: row counts of the sub-plans of queries that ran.

    `DOVETAIL FORGET HISTORY` removes it, `DOVETAIL SAVE HISTORY` and `DOVETAIL LOAD HISTORY` copy it.

    Args:
        spark: A session with Dovetail, classic or Connect.

    Returns:
        A tuple with one entry per sub-plan of each group of joins; a prompt and a notebook show it as a table.

    Raises:
        NotEnabledError: The session does not have Dovetail.
    """
    return Listing(_sql.records(spark, "dovetail_history", SubplanHistory))
