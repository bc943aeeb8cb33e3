"""Seconds to a session and to its first plan, in new JVMs: the time that a user waits before anything runs.

    python -m dovetail_bench.start
    python -m dovetail_bench.start --rounds 15

Each run is a separate process (`start_worker`). It starts a session, makes views of four small Parquet tables, and
plans one query of four relations, either with plain Spark or with Dovetail. The two take turns, and each goes first
equally often; medians count. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from dovetail_bench import report
from dovetail_bench.progress import say

PLAIN, OURS = "plain", "dovetail"
TITLES = {PLAIN: "Spark", OURS: "Dovetail"}

# Time that Dovetail may add to the start of a session, and to the first plan, in ms.
START_MS, PLAN_MS = 500.0, 300.0

# Steps that a worker measures, in the order in which a user waits for them.
STEPS = {
    "start_ms": "start of the session",
    "views_ms": "four views",
    "plan_ms": "first plan",
    "plan_cpu_ms": "first plan, CPU of its thread",
    "next_ms": "second plan of the same query",
}


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs the processes. Returns one line per process."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="dovetail-start-") as work:
        _worker("tables", work, options)
        for turn in range(options.warm_up + options.rounds):
            for mode in (PLAIN, OURS) if turn % 2 else (OURS, PLAIN):
                line = {"round": turn - options.warm_up + 1, "mode": mode, **_worker(mode, work, options)}
                say(", ".join(f"{key} {value}" for key, value in line.items()))
                # the first processes read jars and classes from the disk
                if turn >= options.warm_up:
                    lines.append(line)
    return lines


def _worker(what: str, work: str, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, "-m", "dovetail_bench.start_worker", what, work, "--cores", str(options.cores)]
    path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def summary(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Median of each step with plain Spark and with Dovetail, and the difference."""
    found = []
    for step, title in STEPS.items():
        plain, ours = (median(line[step] for line in lines if line["mode"] == mode) for mode in (PLAIN, OURS))
        found.append(
            {"step": title, TITLES[PLAIN] + " ms": plain, TITLES[OURS] + " ms": ours, "added ms": round(ours - plain)}
        )
    return found


def targets(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Time that Dovetail adds, against the limits."""
    added = {line["step"]: line["added ms"] for line in steps}
    return [
        report.target(f"{title}: at most {limit:g} ms above plain Spark", f"{added[title]} ms", added[title] <= limit)
        for title, limit in ((STEPS["start_ms"], START_MS), (STEPS["plan_ms"], PLAN_MS))
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.start", description=head)
    parser.add_argument("--rounds", type=int, default=8, help="processes of each kind that count, an even number (8)")
    parser.add_argument("--warm-up", type=int, default=1, help="rounds before them (1)")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="cores of the local Spark (all)")
    report.add_results_option(parser)
    options = report.parse(parser, arguments)
    lines = run(options)
    page = report.Page("start", "Start of a session, and its first plan")
    page.text("New JVMs in turns, medians. A plan: from SQL text to the executed plan's first stage, nothing run.")
    steps = summary(lines)
    page.table("Steps", steps)
    found = targets(steps)
    page.targets(found)
    page.table("Processes", lines)
    page.write(options, {"steps": steps, "targets": found, "runs": lines})
    return 0 if all(t["hit"] for t in found) else 1


if __name__ == "__main__":
    sys.exit(main())
