"""Time of the optimizer on four small Delta tables: plain Spark, Dovetail with nothing analyzed, and after one pass.

    python -m dovetail_bench.delta_planning
    python -m dovetail_bench.delta_planning --packages io.delta:delta-spark_4.1_2.13:4.4.0 --rounds 30

The query is only planned, from the analyzed plan to the optimized one; it does not run. Warm: the modes take turns on
tables that do not change, each mode goes first equally often, and the median counts. After a commit: each table has
just got a new version, so that Delta must replay its log and list its files; the median of some such queries per mode
counts. CPU: CPU time of the planning thread, warm; it says more than wall-clock time if others use the machine. Exit
code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import dovetail
from dovetail_bench import cpu, report
from dovetail_bench.progress import say
from dovetail_bench.session import DOVETAIL_BARE, DOVETAIL_ONE_PASS, SPARK, Bench, Mode, add_session_options, bench

MODES = (SPARK, DOVETAIL_BARE, DOVETAIL_ONE_PASS)

DATABASE = "delta_planning"

# Rows and columns of the tables: a fact table of some MiB, and three dimensions.
TABLES = {
    "sales": (200_000, "id, id % 1000 AS item, id % 50 AS store, id % 365 AS day, id % 97 AS price"),
    "item": (1_000, "id AS item, concat('item ', id) AS name, id % 20 AS brand"),
    "store": (50, "id AS store, id % 5 AS city"),
    "day": (365, "id AS day, id % 12 AS month"),
}

QUERY = (
    f"SELECT t.city, sum(s.price) FROM {DATABASE}.sales s JOIN {DATABASE}.item i ON s.item = i.item "
    f"JOIN {DATABASE}.store t ON s.store = t.store JOIN {DATABASE}.day d ON s.day = d.day "
    "WHERE i.brand = 3 AND d.month = 2 GROUP BY t.city"
)

# Kinds of measurements, and their titles.
KINDS = {"warm": "warm", "cpu": "warm, CPU", "commit": "after a commit"}

# Time that Dovetail may add to plain Spark's when warm, in ms.
WARM_MS = 50.0

MILLISECONDS = 1000


def settings(packages: str) -> list[str]:
    """Settings of a session with Delta Lake; `dovetail.enable` adds Dovetail's own."""
    return [
        f"spark.jars.packages={packages}",
        "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
    ]


def run(options: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """Milliseconds of each query: one of `KINDS` → mode → times."""
    options.conf += settings(options.packages)
    times: dict[str, dict[str, list[float]]] = {kind: {m.name: [] for m in MODES} for kind in KINDS}
    with bench(options) as session:
        say("writing and collecting")
        session.spark.sql(f"CREATE DATABASE {DATABASE}")
        for name, (rows, columns) in TABLES.items():
            session.spark.sql(f"CREATE TABLE {DATABASE}.{name} USING delta AS SELECT {columns} FROM range({rows})")
        session.switch(DOVETAIL_ONE_PASS)
        dovetail.analyze(session.spark, DATABASE, progress=False)
        for turn in range(options.warm_up + options.rounds):
            for mode in _in_turns(turn):
                took, busy = _plan_ms(session, mode)
                if turn >= options.warm_up:
                    times["warm"][mode.name].append(took)
                    times["cpu"][mode.name].append(busy)
        say(f"warm: {_medians(times['warm'])}")
        for turn in range(options.commits):
            for mode in _in_turns(turn):
                _commit(session)
                times["commit"][mode.name].append(_plan_ms(session, mode)[0])
        say(f"after commits: {_medians(times['commit'])}")
    return times


def _in_turns(turn: int) -> tuple[Mode, ...]:
    first = turn % len(MODES)
    return MODES[first:] + MODES[:first]


def _plan_ms(session: Bench, mode: Mode) -> tuple[float, float]:
    """Milliseconds of the optimizer, and CPU milliseconds of the thread that plans."""
    session.switch(mode)
    execution = session.spark.sql(QUERY)._jdf.queryExecution()
    execution.withCachedData()
    started, busy = time.perf_counter(), cpu.thread_ms(session.spark)
    execution.optimizedPlan()
    busy = cpu.thread_ms(session.spark) - busy
    return (time.perf_counter() - started) * MILLISECONDS, busy


def _commit(session: Bench) -> None:
    """Commits a new version of each table. It has only one more row, so that the plans stay the same."""
    session.switch(SPARK)
    for name in TABLES:
        session.spark.sql(f"INSERT INTO {DATABASE}.{name} SELECT * FROM {DATABASE}.{name} LIMIT 1")


def _medians(times: dict[str, list[float]]) -> str:
    return ", ".join(f"{mode} {median(ms):.0f} ms" for mode, ms in times.items())


def summary(times: dict[str, dict[str, list[float]]]) -> list[dict[str, Any]]:
    """Times of each mode, and what each adds to plain Spark's."""
    plain = {kind: median(by_mode[SPARK.name]) for kind, by_mode in times.items()}
    lines = []
    for mode in MODES:
        found: dict[str, Any] = {"mode": mode.title}
        for kind, title in KINDS.items():
            ms = median(times[kind][mode.name])
            found |= {f"{title}, ms": round(ms, 1), f"{title}, added ms": round(ms - plain[kind], 1)}
        lines.append(found)
    return lines


def targets(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Time that each of Dovetail's modes adds when warm, against the limit."""
    return [
        report.target(
            f"warm: at most {WARM_MS:g} ms above plain Spark",
            f"{line['warm, added ms']} ms",
            line["warm, added ms"] <= WARM_MS,
            mode=line["mode"],
        )
        for line in lines
        if line["mode"] != SPARK.title
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.delta_planning", description=head)
    parser.add_argument(
        "--packages",
        default="io.delta:delta-spark_4.1_2.13:4.4.0",
        help="Maven coordinates of Delta Lake for this Spark line (io.delta:delta-spark_4.1_2.13:4.4.0)",
    )
    parser.add_argument("--rounds", type=int, default=30, help="warm rounds that count, a multiple of the modes (30)")
    parser.add_argument("--warm-up", type=int, default=15, help="rounds before them (15)")
    parser.add_argument("--commits", type=int, default=6, help="queries of each mode after commits (6)")
    report.add_results_option(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    times = run(options)
    page = report.Page("delta_planning", "Time of the optimizer on Delta tables")
    page.text("From the analyzed plan to the optimized one, nothing run; medians in milliseconds.")
    lines = summary(times)
    page.table("Modes", lines)
    found = targets(lines)
    page.targets(found)
    page.write(options, {"summary": lines, "targets": found, "times": times})
    return 0 if all(t["hit"] for t in found) else 1


if __name__ == "__main__":
    sys.exit(main())
