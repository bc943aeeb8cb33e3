"""One process of `drills`: analyzes partitions of a table again and again, until it is done or killed.

    python -m dovetail_bench.drills_writer TABLE STORE FIRST ROUNDS recipes|stores

Each round collects with another recipe than the last one, so that all files are read again, or into a new store. The
process prints "> ready" when its session exists, waits for a line of input, prints "> begun", and "> done" at the end.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import dovetail

PARTITIONS = 8
RECIPES, STORES = "recipes", "stores"


def main() -> int:
    """The command line; returns the exit code."""
    path, store, first, rounds, by_recipe = (
        sys.argv[1],
        sys.argv[2],
        int(sys.argv[3]),
        int(sys.argv[4]),
        sys.argv[5] == RECIPES,
    )
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.dovetail.store.path", store).config("spark.driver.memory", "600m")
    spark = dovetail.enable(builder.config("spark.driver.host", "localhost")).getOrCreate()
    print("> ready", flush=True)
    sys.stdin.readline()
    print("> begun", flush=True)
    for i in range(rounds):
        if by_recipe:
            spark.conf.set("spark.dovetail.privateColumns", "g" if i % 2 else "")
        else:
            spark.conf.set("spark.dovetail.store.path", f"{store}/{i}")
        for p in range(first, PARTITIONS, 2):
            spark.sql(f"DOVETAIL ANALYZE PATH parquet.`{path}` PARTITION (p = {p})").collect()
    print("> done", flush=True)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
