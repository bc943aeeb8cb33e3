"""Times and shuffled bytes of a query suite, in pairs: plain Spark, Spark's CBO, Dovetail analyzed and bare.

    python -m dovetail_bench.times --scale 10
    python -m dovetail_bench.times --scale 10 --suite tpch

Adaptive execution is on in all modes. They run each query one after the other in one session, and the mode that goes
first rotates. Exit code 1 if a query fails in one of Dovetail's modes, or with --gate if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from dovetail_bench import join_rows, report
from dovetail_bench.join_rows_report import MILLISECONDS, Results, answers_differing, failures, slower, totals
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, SPARK, SPARK_CBO, Mode

MODES = (SPARK, SPARK_CBO, DOVETAIL, DOVETAIL_BARE)

# Total time of Dovetail as a share of another mode's, and its shuffled bytes as a share of plain Spark's.
MAX_TIME = {SPARK.name: 0.75, SPARK_CBO.name: 0.85}
MAX_SHUFFLED = 0.8

# No query is to be slower than with plain Spark by more than this share and more than these seconds.
SLOWER = 1.10
SLOWER_SECONDS = 0.5

MIB = 1 << 20


def targets(results: Results) -> list[dict[str, Any]]:
    """The targets with what was measured, of both of Dovetail's modes."""
    found = []
    for mode in (DOVETAIL, DOVETAIL_BARE):
        time = results.total(mode, lambda p: p.seconds)
        for other in (SPARK, SPARK_CBO):
            share = time / results.total(other, lambda p: p.seconds)
            most = MAX_TIME[other.name]
            found.append(report.target(f"{mode.title}: time at most {most} of {other.title}", share, share <= most))
        share = results.total(mode, lambda p: p.shuffle_bytes) / results.total(SPARK, lambda p: p.shuffle_bytes)
        name = f"{mode.title}: shuffled bytes at most {MAX_SHUFFLED} of {SPARK.title}"
        found.append(report.target(name, share, share <= MAX_SHUFFLED))
        behind = [line["query"] for line in late(results, mode)]
        name = f"{mode.title}: no query over {SLOWER - 1:.0%} and {SLOWER_SECONDS} s slower than {SPARK.title}"
        found.append(report.target(name, ", ".join(behind) or "none", not behind))
    return [*found, report.target("all queries run in all modes", len(results.failures) or "yes", not results.failures)]


def late(results: Results, mode: Mode) -> list[dict[str, Any]]:
    """The queries that take longer than with plain Spark, with what tells why."""
    lines = []
    for line in slower(results, mode, SLOWER, SLOWER_SECONDS):
        run, plain = (results.measured[line["query"]][m.name][-1] for m in (mode, SPARK))
        shuffled = {
            "Spark shuffled MiB": plain.shuffle_bytes / MIB,
            f"{mode.title} shuffled MiB": run.shuffle_bytes / MIB,
        }
        lines.append({**line, "of it Dovetail's planning s": run.dovetail_ms / MILLISECONDS, **shuffled})
    return lines


def write_page(page: report.Page, results: Results) -> None:
    """Fills the page."""
    page.text(
        f"{len(results.complete)} queries ran in all modes, adaptive execution on. ANALYZE of all columns took "
        f"{results.analyze_seconds:.0f} s."
    )
    page.table("Totals", [totals(results, mode) for mode in results.modes])
    page.targets(targets(results))
    for mode in (DOVETAIL, DOVETAIL_BARE, SPARK_CBO):
        page.table(f"Slower than Spark with {mode.title}", late(results, mode))
    page.table("Answers whose digest is not plain Spark's (tie or wrong: see answers)", answers_differing(results))
    page.table("Failures", failures(results))
    page.table("All queries", [_line(results, query) for query in results.complete])


def _line(results: Results, query: str) -> dict[str, Any]:
    last = [(mode, results.measured[query][mode.name][-1]) for mode in results.modes]
    line: dict[str, Any] = {"query": query}
    line |= {f"{mode.title} s": results.seconds(query, mode) for mode in results.modes}
    line |= {f"{mode.title} MiB": run.shuffle_bytes / MIB for mode, run in last}
    return line | {f"{mode.title} rows": run.join_rows for mode, run in last}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.times", description=lines[0])
    join_rows.add_options(parser)
    options = parser.parse_args(arguments)
    results = join_rows.run(options, MODES)
    page = report.Page("times", f"Times, {options.suite}, scale {options.scale:g}", data=options.suite)
    write_page(page, results)
    return join_rows.finish(page, options, results, targets(results))


if __name__ == "__main__":
    sys.exit(main())
