"""Runs a JMH benchmark of benchmarks/jmh and writes what it measured as a page and a results file.

    python -m dovetail_bench.micro SearchBenchmark
    python -m dovetail_bench.micro SketchBenchmark -- -p distinct=300

Arguments after `--` go to JMH. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dovetail_bench import report

ROOT = Path(__file__).resolve().parents[2]

TITLES = {"SearchBenchmark": "Search times", "SketchBenchmark": "Time per value of a sketch"}

# Milliseconds that the search of a join graph may take. Other graphs have no target.
SEARCH_LIMITS = {
    "clique12": 60,
    "star16": 60,
    "chain20": 10,
    **{f"{shape}50": 150 for shape in ("chain", "star", "snowflake", "mixed", "outerstar", "outersnowflake")},
    **{f"{shape}100": 500 for shape in ("chain", "star", "snowflake", "mixed", "outersnowflake")},
    **{f"{shape}1000": 5000 for shape in ("chain", "star", "snowflake", "mixed", "outersnowflake")},
}


def measured(benchmark: str, more: Sequence[str]) -> list[dict[str, Any]]:
    """Runs JMH. Returns one row per method and parameters."""
    with tempfile.TemporaryDirectory() as directory:
        found = Path(directory) / "jmh.json"
        command = f"bench/Jmh/run {benchmark} -rf json -rff {found} {' '.join(more)}"
        subprocess.run([str(ROOT / "sbt"), command], cwd=ROOT, check=True)
        return list(rows(json.loads(found.read_text(encoding="utf-8"))))


def rows(runs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Turns JMH's results into rows of a table."""
    for run in runs:
        metric = run["primaryMetric"]
        yield {
            "benchmark": run["benchmark"].rpartition(".")[2],
            **(run.get("params") or {}),
            "unit": metric["scoreUnit"],
            "score": metric["score"],
            "± (99.9 %)": metric["scoreError"],
        }


def targets(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Targets of the searches, and whether each is hit."""
    by_shape = {row["shape"]: float(row["score"]) for row in found if "shape" in row}
    return [
        report.target(f"search of {shape}: at most {limit} ms", by_shape[shape], by_shape[shape] <= limit)
        for shape, limit in SEARCH_LIMITS.items()
        if shape in by_shape
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.micro", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("benchmark", choices=TITLES, help="class of benchmarks/jmh")
    parser.add_argument("jmh", nargs="*", help="arguments of JMH, after --")
    report.add_results_option(parser)
    options = report.parse(parser, arguments)
    found = measured(options.benchmark, options.jmh)
    results = targets(found)
    page = report.Page("micro", TITLES[options.benchmark], options.benchmark)
    if results:
        page.targets(results)
    page.table("Measured", found)
    page.write(options, {"targets": results, "measured": found})
    return 0 if all(target["hit"] for target in results) else 1


if __name__ == "__main__":
    sys.exit(main())
