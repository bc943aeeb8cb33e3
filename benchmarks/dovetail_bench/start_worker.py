"""One process of `start`: writes the tables, or times the first steps of a session with or without Dovetail.

    python -m dovetail_bench.start_worker tables /tmp/work
    python -m dovetail_bench.start_worker dovetail /tmp/work

It prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

import dovetail
from dovetail_bench import cpu

MILLISECONDS = 1000

TABLES: Mapping[str, tuple[int, str]] = {
    "sales": (50_000, "id, id % 1000 AS item, id % 50 AS store, id % 365 AS day, id % 97 AS price"),
    "item": (1_000, "id AS item, concat('item ', id) AS name, id % 20 AS brand"),
    "store": (50, "id AS store, id % 5 AS city"),
    "day": (365, "id AS day, id % 12 AS month"),
}

QUERY = (
    "SELECT t.city, sum(s.price) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store "
    "JOIN day d ON s.day = d.day WHERE i.brand = 3 AND d.month = 2 GROUP BY t.city"
)


def builder(cores: int) -> Any:
    """Builder of a quiet local session."""
    return (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
    )


def write_tables(home: str, cores: int) -> dict[str, float]:
    """Writes the tables that all processes read."""
    spark = builder(cores).getOrCreate()
    for name, (rows, columns) in TABLES.items():
        spark.sql(f"SELECT {columns} FROM range(0, {rows}, 1, 1)").write.parquet(f"{home}/{name}")
    spark.stop()
    return {}


def first_steps(home: str, cores: int, ours: bool) -> dict[str, float | None]:
    """Milliseconds of each step, and the part of Dovetail's rule in the first plan."""
    told: dict[str, float | None] = {}

    def timed(step: str, work: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        done = work()
        told[f"{step}_ms"] = round((time.perf_counter() - started) * MILLISECONDS, 1)
        return done

    made = builder(cores).config("spark.dovetail.store.path", f"{home}/store")
    spark = timed("start", lambda: (dovetail.enable(made) if ours else made).getOrCreate())

    def views() -> None:
        for name in TABLES:
            spark.read.parquet(f"{home}/{name}").createOrReplaceTempView(name)

    def plan() -> None:
        spark.sql(QUERY)._jdf.queryExecution().executedPlan()

    timed("views", views)
    before = cpu.thread_ms(spark)
    timed("plan", plan)
    told["plan_cpu_ms"] = round(cpu.thread_ms(spark) - before, 1)
    timed("next", plan)
    told["own_ms"] = None
    if ours:
        # fails without Dovetail: the run would then compare plain Spark with itself
        (last,) = spark.sql("SELECT dovetail_ms FROM dovetail_queries() ORDER BY id LIMIT 1").collect()
        told["own_ms"] = round(last[0], 1)
    spark.stop()
    return told


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("tables", "plain", "dovetail"))
    parser.add_argument("home", help="a directory of the caller's")
    parser.add_argument("--cores", type=int, default=2)
    asked = parser.parse_args()
    if asked.what == "tables":
        print(json.dumps(write_tables(asked.home, asked.cores)))
    else:
        print(json.dumps(first_steps(asked.home, asked.cores, asked.what == "dovetail")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
