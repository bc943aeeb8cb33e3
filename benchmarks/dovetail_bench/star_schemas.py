"""Rows out of joins on the Star Schema Benchmark, whose 13 queries are stars: Spark with its star detection, Dovetail.

    python -m dovetail_bench.star_schemas

Spark finds stars in two ways. Without its cost-based optimizer, a heuristic puts the dimensions of the star next to the
fact table, the most selective first. With it, a filter keeps the joins of the star together. Both need Spark's own
statistics, so they read tables of which all columns are analyzed. Dovetail has no such detection.

Exit code 1 if a query fails, or has over 1.1 times as many rows out of joins with Dovetail as with the best of Spark's
modes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dovetail_bench import report
from dovetail_bench.join_rows import measure
from dovetail_bench.join_rows_report import Results
from dovetail_bench.queries import SSB, load
from dovetail_bench.session import (
    DOVETAIL,
    DOVETAIL_BARE,
    DOVETAIL_ONE_PASS,
    SPARK,
    SPARK_CBO,
    Mode,
    add_session_options,
)
from dovetail_bench.ssb_data import ssb_dataset

# Rows out of joins that a query may have with Dovetail, as a multiple of those with the best of Spark's modes.
MAX_WORSE = 1.1

_DETECTION = "spark.sql.cbo.starSchemaDetection"
_FILTER = "spark.sql.cbo.joinReorder.dp.star.filter"
_STATISTICS = "spark.sql.cbo.planStats.enabled"


def _with(mode: Mode, detects: bool, **named: Any) -> Mode:
    own = {_DETECTION: detects, _FILTER: detects, _STATISTICS: detects}
    return replace(mode, conf={**mode.conf, **{key: str(on).lower() for key, on in own.items()}}, **named)


PLAIN = _with(SPARK, False)
HEURISTIC = _with(SPARK, True, name="spark_star", title="Spark, star heuristic", analyzed=True)
FILTERED = _with(SPARK_CBO, True, name="cbo_star", title="Spark CBO, star filter")
OURS = tuple(_with(mode, False) for mode in (DOVETAIL, DOVETAIL_BARE, DOVETAIL_ONE_PASS))
MODES = (PLAIN, HEURISTIC, FILTERED, *OURS)


def lines(results: Results) -> list[dict[str, Any]]:
    """Rows out of joins of each query and mode, and the sums."""
    found = [{"query": q, **{m.title: results.rows(q, m) for m in results.modes}} for q in results.complete]
    return [*found, {"query": "all", **{m.title: sum(line[m.title] for line in found) for m in results.modes}}]


def targets(results: Results) -> list[dict[str, Any]]:
    """Targets: in each of Dovetail's modes, no query is worse than with the best of Spark's modes."""
    found = []
    for mode in OURS:
        worse = [
            q
            for q in results.complete
            if results.rows(q, mode) > MAX_WORSE * min(results.rows(q, m) for m in (PLAIN, HEURISTIC, FILTERED))
        ]
        words = f"{mode.title}: no query above {MAX_WORSE:g}x of the best of Spark's modes, rows out of joins"
        found.append(report.target(words, ", ".join(worse) or "none", not worse))
    return [*found, report.target("all queries run in all modes", len(results.failures) or "yes", not results.failures)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.star_schemas", description=head)
    parser.add_argument("--queries", nargs="+", default=[], metavar="NAME", help="only these")
    report.add_options(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    data = ssb_dataset(options.scale, options.data_dir)
    results = measure(options, load(SSB, options.queries), data, MODES)
    page = report.Page("star_schemas", f"Star Schema Benchmark, scale {options.scale:g}")
    rows = lines(results)
    page.table("Rows out of joins", rows)
    found = targets(results)
    page.targets(found)
    page.write(options, {"targets": found, "rows": rows, "failures": results.failures, "runs": results.as_dict()})
    return 0 if all(t["hit"] for t in found) else 1


if __name__ == "__main__":
    sys.exit(main())
