"""`dovetail demo`: runs join-heavy TPC-DS queries with plain Spark and with Dovetail in two modes, in one session.

Data flow: data (DuckDB's dsdgen writes Parquet files, which are kept) → session (tables, one pass of
`dovetail.analyze`) → measure (runs each query in three modes: plain Spark; Dovetail with nothing analyzed; Dovetail
after the pass; compares the answers) → show (one table) and page (HTML with bars and join orders). `queries` selects
the query texts. The demo needs the extra `demo`.
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
    """Runs the demo and prints the results.

    Args:
        scale: TPC-DS scale factor; 1 is about 1 GB of raw data.
        data_dir: Directory for the generated data; None means the user's cache directory.
        queries: Names of TPC-DS queries, "q72"; None runs a selection of join-heavy ones.
        repeat: Measured runs of each query in each mode; medians are shown.
        page: File for the HTML page.

    Returns:
        The exit code: 0, or 1 if an answer with Dovetail differs from plain Spark's.

    Raises:
        DovetailError: A dependency is missing or an argument is not allowed; the message says what to do.
    """
    # Imported here, so that dovetail.demo.data works without rich and pyspark.
    from dovetail.demo.run import run

    return run(scale, data_dir, queries, repeat, Path(page))
