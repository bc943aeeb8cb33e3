"""The demo's query texts, which it reads from DuckDB's copy of TPC-DS at run time, and the default selection.

All texts except nine run unchanged in Spark; `NOT_IN_SPARK` lists these nine with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dovetail._error_text import did_you_mean
from dovetail.demo.data import connect
from dovetail.errors import DovetailError

# Join-heavy queries whose join order matters, few enough to run in two minutes.
SELECTION = ("q72", "q25", "q17", "q29", "q54", "q13", "q85", "q6")

_QUOTED = 'a column name in double quotes ("order count"), which is a string to Spark'

# DuckDB's texts that do not run unchanged in Spark, with the reason.
NOT_IN_SPARK: Mapping[str, str] = {
    **dict.fromkeys(("q16", "q32", "q50", "q62", "q92", "q94", "q95", "q99"), _QUOTED),
    "q30": "c_last_review_date_sk, which is c_last_review_date in the data written for Spark",
}


def texts(names: Sequence[str] | None) -> dict[str, str]:
    """The texts of these queries, "q72" or "Q72", in this order; None means the default selection.

    Raises:
        DovetailError: There is no such query, or it does not run in Spark.
    """
    with connect("tpcds") as connection:
        found = connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall()
    known = {f"q{number}": text.strip().rstrip(";") for number, text in found}
    wanted = list(dict.fromkeys(name.lower() for name in names or SELECTION))
    for name in wanted:
        if name not in known:
            raise DovetailError(f"there is no TPC-DS query '{name}'.{did_you_mean(name, list(known))} q1 to q99.")
        if name in NOT_IN_SPARK:
            raise DovetailError(f"{name} does not run in Spark as DuckDB has it: {NOT_IN_SPARK[name]}. Choose another.")
    return {name: known[name] for name in wanted}
