"""`dovetail demo`: TPC-DS data and join-heavy queries, with plain Spark and with Dovetail in two ways, in one session.

data (DuckDB's dsdgen → Parquet, kept for the next time) → session (tables, one pass of `dovetail.analyze`) → measure
(each query in three modes: plain Spark; Dovetail with nothing analyzed; Dovetail after the pass; answers compared) →
show (one table) and page (HTML with bars and orders). `queries` chooses the texts. Needs the extra `demo`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def main(
    *,
    scale: float = 1.0,
    data_dir: Path | str | None = None,
    queries: Sequence[str] | None = None,
    repeat: int = 1,
    page: Path | str = "dovetail-demo.html",
) -> int:
    """Runs the demo and prints what came out.

    Args:
        scale: TPC-DS scale factor; 1 is about 1 GB of raw data.
        data_dir: Where generated data is kept; None is the user's cache directory.
        queries: Names of TPC-DS queries, "q72"; None runs a selection of join-heavy ones.
        repeat: Measured runs of each query in each mode; medians are shown.
        page: Where the HTML page is written.

    Returns:
        The exit code: 0, or 1 if an answer with Dovetail differs from plain Spark's.

    Raises:
        DovetailError: Something needed is missing or an argument is not allowed; the message says what to do.
    """
    # Here, so that dovetail.demo.data works without rich and pyspark.
    from dovetail.demo.run import run

    return run(scale, data_dir, queries, repeat, Path(page))
