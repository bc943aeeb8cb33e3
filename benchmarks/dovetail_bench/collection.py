"""Cost of collecting statistics: Spark's ANALYZE of all columns with histograms against Dovetail's one pass.

    python -m dovetail_bench.collection

Both read the same TPC-DS tables in one session, in turns (ANALYZE, pass, pass, ANALYZE), so that both profit equally
from warm caches. Then a file is appended to a copy of the largest table. Its collection is compared with the first
pass in time, and with one pass over all files in the statistics found.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import dovetail
from dovetail.demo.data import Dataset, dataset
from dovetail.statistics import TableStats
from dovetail_bench import report
from dovetail_bench.progress import say
from dovetail_bench.queries import FOLDERS
from dovetail_bench.session import DOVETAIL_ONE_PASS, STORE, Bench, add_session_options, bench

HISTOGRAMS = "spark.sql.statistics.histogram.enabled"
LARGEST = "store_sales"

# Targets: time of a pass as a share of ANALYZE's, and time of new files (1 of 100) as a share of the first pass.
MAX_SHARE = 0.5
MAX_APPENDED = 0.1
FILES = 100

# NDVs collected in pieces and NDVs collected at once may differ by four standard errors of HyperLogLog (1.6 %).
MAX_NDV_ERROR = 0.066


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures both ways of collecting, and appending."""
    data = dataset(FOLDERS["tpcds"][1], options.scale, options.data_dir)
    with bench(options) as session:
        session.register(data, analyze=False)
        session.use(DOVETAIL_ONE_PASS, data)
        rounds = _rounds(session, data)
        with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as work:
            return {"rounds": rounds, "appended": _appended(session, data.location(LARGEST), Path(work))}


def _rounds(session: Bench, data: Dataset) -> list[dict[str, Any]]:
    spark = session.spark
    spark.conf.set(HISTOGRAMS, "true")

    def analyze(table: str, _: int) -> None:
        spark.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS")

    def one_pass(table: str, number: int) -> None:
        spark.conf.set(STORE, str(session.stores / f"round-{number}"))
        dovetail.analyze(spark, table, progress=False)

    turns: list[tuple[str, Callable[[str, int], None]]] = [
        ("Spark ANALYZE, histograms", analyze),
        ("Dovetail, one pass", one_pass),
        ("Dovetail, one pass", one_pass),
        ("Spark ANALYZE, histograms", analyze),
    ]
    found = []
    for number, (way, collect) in enumerate(turns):
        for table in data.tables:
            seconds = _seconds(lambda c=collect, t=table, n=number: c(t, n))  # type: ignore[misc]
            found.append({"round": number + 1, "way": way, "table": table, "seconds": seconds})
        say(f"round {number + 1}, {way}: {sum(f['seconds'] for f in found if f['round'] == number + 1):.1f} s")
    return found


def _appended(session: Bench, source: Path, work: Path) -> dict[str, Any]:
    """Collects all files of a copy but one, then appends the last one and collects again."""
    spark, pieces, late = session.spark, work / "pieces", work / "late"
    spark.read.parquet(str(source)).repartition(FILES).write.parquet(str(pieces))
    late.mkdir()
    last = max(pieces.glob("*.parquet"))
    shutil.move(last, late / last.name)
    target = f"parquet.`{pieces}`"
    spark.conf.set(STORE, str(session.stores / "appended"))
    first = _seconds(lambda: dovetail.analyze(spark, target, progress=False))
    shutil.move(late / last.name, pieces / last.name)
    again = _seconds(lambda: dovetail.analyze(spark, target, progress=False))
    merged = dovetail.stats(spark, target)
    spark.conf.set(STORE, str(session.stores / "at-once"))
    dovetail.analyze(spark, target, progress=False)
    return {
        "first s": first,
        "appended s": again,
        "share": again / first,
        **_difference(merged, dovetail.stats(spark, target)),
    }


def _difference(merged: TableStats, whole: TableStats) -> dict[str, Any]:
    pairs = [(merged[column.name], column) for column in whole.columns]
    exact = all((a.null_count, a.min, a.max) == (b.null_count, b.min, b.max) for a, b in pairs)
    ndvs = [abs((a.distinct_count or 0) / b.distinct_count - 1.0) for a, b in pairs if b.distinct_count]
    return {
        "rows equal": merged.rows == whole.rows,
        "NULLs and bounds equal": exact,
        "largest difference of an NDV": max(ndvs),
    }


def _seconds(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def _write(page: report.Page, results: dict[str, Any]) -> list[dict[str, Any]]:
    rounds, appended = results["rounds"], results["appended"]

    def total(way: str, table: str | None = None) -> float:
        chosen = [r for r in rounds if r["way"].startswith(way) and table in (None, r["table"])]
        return mean(sum(r["seconds"] for r in chosen if r["round"] == n) for n in {r["round"] for r in chosen})

    lines = []
    for name in (*dict.fromkeys(r["table"] for r in rounds), None):
        spark, ours = total("Spark", name), total("Dovetail", name)
        lines.append({"table": name or "all", "ANALYZE s": spark, "one pass s": ours, "share": ours / spark})
    every, largest = lines[-1], next(line for line in lines if line["table"] == LARGEST)
    ndv = appended["largest difference of an NDV"]
    targets = [
        report.target(
            f"one pass over all tables at most {MAX_SHARE:g} of ANALYZE with histograms",
            every["share"],
            every["share"] <= MAX_SHARE,
        ),
        report.target(
            f"one pass over {LARGEST} at most {MAX_SHARE:g}", largest["share"], largest["share"] <= MAX_SHARE
        ),
        report.target(
            f"1 of {FILES} files appended: at most {MAX_APPENDED:g} of the first pass",
            appended["share"],
            appended["share"] <= MAX_APPENDED,
        ),
        report.target(
            "in pieces as at once: rows, NULLs, bounds",
            "equal",
            appended["rows equal"] and appended["NULLs and bounds equal"],
        ),
        report.target(f"in pieces as at once: NDVs within {MAX_NDV_ERROR:.1%}", ndv, ndv <= MAX_NDV_ERROR),
    ]
    page.text(
        "Seconds are means of two rounds each, in turns. Both collect all columns; each round of the pass has a store "
        "of its own."
    )
    page.targets(targets)
    page.table("Tables", lines)
    page.table("Appending to " + LARGEST, [appended])
    return targets


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.collection", description=lines[0])
    parser.add_argument("--gate", action="store_true", help="exit code 1 if a target is missed")
    report.add_options(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    results = run(options)
    page = report.Page("collection", f"Collecting statistics, tpcds, scale {options.scale:g}")
    targets = _write(page, results)
    page.write(options, {"targets": targets, **results})
    return 1 if options.gate and not all(t["hit"] for t in targets) else 0


if __name__ == "__main__":
    sys.exit(main())
