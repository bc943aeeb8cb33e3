"""Measures the constants of the physical cost model (`CostConstants`), in nanoseconds of one core.

    python -m dovetail_bench.calibrate

Each constant is the difference between the times of two small queries, divided by their rows or bytes. The two queries
differ in size or in one operator only. Run it on a quiet machine. It measures Spark itself and does not need Dovetail.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from dovetail_bench import report
from dovetail_bench.progress import say

ROWS = 8_000_000
"""Rows of the large side: about a second of work for the cheaper constants."""

BUILD_ROWS = 1_500_000
"""Rows of a broadcast: as many as a dimension that Spark still broadcasts."""

PAD_BYTES = 240
"""Extra bytes in a wide row, to tell the cost per byte from the cost per row."""

PAIR_ROWS = 6_000
"""Rows of each side of a nested loop join: 36 million pairs."""

SORTED_ROWS = 3_000_000
HASHES = 3
ROW_OF_HASHES = 8 + HASHES * (8 + 64)
"""Rows of the sort that is spilled: so many hexadecimal hashes of 64 bytes, with their offsets. 672 MB."""

MEMORY_FRACTION, SMALL_FRACTION = 0.6, 0.1
"""Of the heap for sorts: Spark's default, 2.2 GB here, and about 370 MB, in which that sort does not fit."""

NANO = 1e9

WARM_UP = 2


def main() -> int:
    """Measures all constants and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="runs of each query; the fastest counts (5)")
    report.add_results_option(parser)
    options = report.parse(parser, None)
    with _session() as spark:
        constants = _measure(spark, options.repeat)
    constants.append(_spilled(options.repeat))
    page = report.Page("calibrate", "Constants of the physical cost model, measured")
    page.text("Nanoseconds of one core per unit, the fastest of several runs with `local[1]`.")
    page.table("Constants", constants)
    page.write(options, {"constants": constants})
    return 0


def _session(memory_fraction: float = MEMORY_FRACTION) -> SparkSession:
    return (
        SparkSession.builder.master("local[1]")
        .appName("dovetail calibrate")
        .config("spark.driver.memory", "4g")
        .config("spark.memory.fraction", memory_fraction)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def _seconds(query: Callable[[], DataFrame], repeat: int) -> float:
    times = []
    for i in range(WARM_UP + repeat):
        start = time.perf_counter()
        query().write.format("noop").mode("overwrite").save()
        if i >= WARM_UP:
            times.append(time.perf_counter() - start)
    return min(times)


def _found(name: str, nanos: float, how: str) -> dict[str, Any]:
    say(f"{name} {nanos:.2f} ns")
    return {"constant": name, "ns": round(max(nanos, 0.0), 2), "how": how}


def _spilled(repeat: int) -> dict[str, Any]:
    """Cost of a spilled byte: a sort without enough memory, minus the same sort with enough memory."""
    spilled = _sorting(SMALL_FRACTION, repeat) - _sorting(MEMORY_FRACTION, repeat)
    how = f"a sort of {HASHES} hashes a row with a memory fraction of {SMALL_FRACTION}, less one with {MEMORY_FRACTION}"
    return _found("spillByte", spilled / SORTED_ROWS / ROW_OF_HASHES * NANO, how)


def _sorting(memory_fraction: float, repeat: int) -> float:
    """Seconds that a sort of badly compressible rows takes."""
    with _session(memory_fraction) as spark:
        hashes = [f.sha2((f.col("id") + i).cast("string"), 256).alias(f"h{i}") for i in range(HASHES)]
        rows = spark.range(0, SORTED_ROWS, 1, 1).select(*hashes)
        return _seconds(lambda: rows.sortWithinPartitions("h0"), repeat)


def _measure(spark: SparkSession, repeat: int) -> list[dict[str, Any]]:
    def seconds(query: Callable[[], DataFrame]) -> float:
        return _seconds(query, repeat)

    def ids(rows: int, pad: int = 0) -> DataFrame:
        """Rows with a key, a value and, if asked for, padding. Keys are scattered, so that no input is sorted."""
        key = f.pmod(f.col("id") * 2654435761, f.lit(rows))
        columns = [key.alias("k"), (f.col("id") + 1).alias("v")]
        return spark.range(0, rows, 1, 1).select(*columns, *([f.repeat(f.lit("x"), pad).alias("pad")] if pad else []))

    def total(df: DataFrame, *columns: str) -> DataFrame:
        return df.agg(*[f.sum(c) for c in columns])

    found: list[dict[str, Any]] = []

    def note(name: str, nanos: float, how: str) -> None:
        found.append(_found(name, nanos, how))

    scan = seconds(lambda: total(ids(ROWS), "v"))
    small = ids(1000).select(f.col("k").alias("bk"), f.col("v").alias("bv"))
    misses = seconds(
        lambda: total(
            ids(ROWS).join(f.broadcast(small.withColumn("bk", -f.col("bk") - 1)), f.col("k") == f.col("bk")), "v", "bv"
        )
    )
    note("hashProbe", (misses - scan) / ROWS * NANO, "broadcast join without a hit, less the scan")
    keyed = ids(ROWS).withColumn("k", f.pmod(f.col("k"), f.lit(1000)))
    scan_keyed = seconds(lambda: total(keyed, "v"))
    all_hit = seconds(lambda: total(keyed.join(f.broadcast(small), f.col("k") == f.col("bk")), "v", "bv"))
    note(
        "rowProduced",
        (all_hit - scan_keyed - (misses - scan)) / ROWS * NANO,
        "the same with a hit per row, less the probe",
    )

    def broadcast(rows: int, pad: int) -> float:
        columns = ["bk", "bv"] + (["pad"] if pad else [])
        build = ids(rows, pad).withColumnsRenamed({"k": "bk", "v": "bv"}).select(*columns)
        out = ["bv"] + (["length(pad)"] if pad else [])
        return seconds(
            lambda: ids(10).join(f.broadcast(build), f.col("k") == f.col("bk")).agg(*[f.sum(f.expr(c)) for c in out])
        ) - seconds(lambda: total(ids(rows), "v"))

    narrow, wide = broadcast(BUILD_ROWS, 0), broadcast(BUILD_ROWS, PAD_BYTES)
    per_byte = (wide - narrow) / BUILD_ROWS / PAD_BYTES * NANO
    row_bytes = 24
    note("broadcastByte", per_byte, f"broadcasts with {PAD_BYTES} more bytes a row, one copy")
    note("hashBuild", narrow / BUILD_ROWS * NANO - row_bytes * per_byte, "a broadcast of narrow rows, less its bytes")

    half = ROWS // 2
    plain, padded = seconds(lambda: ids(half)), seconds(lambda: ids(half // 4, PAD_BYTES))
    moved = seconds(lambda: ids(half).repartition(1, "k")) - plain
    moved_wide = seconds(lambda: ids(half // 4, PAD_BYTES).repartition(1, "k")) - padded
    byte = (moved_wide / (half // 4) - moved / half) / PAD_BYTES * NANO
    note("exchangeByte", byte, f"exchanges of rows with {PAD_BYTES} more bytes (compressible ones)")
    note("exchangeRow", moved / half * NANO - row_bytes * byte, "an exchange of narrow rows, less its bytes")
    sorting = seconds(lambda: ids(half).repartition(1, "k").sortWithinPartitions("k")) - plain - moved
    note("sortCompare", sorting / half / math.log2(half) * NANO, "a sort of exchanged rows, per row and doubling")

    other = ids(half).withColumnsRenamed({"k": "bk", "v": "bv"})
    merged = seconds(
        lambda: total(ids(half).join(other.withColumn("bk", -f.col("bk") - 1), f.col("k") == f.col("bk")), "v", "bv")
    )
    note(
        "merge",
        (merged / 2 - plain - moved - sorting) / half * NANO,
        "a sort-merge join without a hit, less exchanges and sorts",
    )

    left, right = ids(PAIR_ROWS), ids(PAIR_ROWS).withColumnsRenamed({"k": "bk", "v": "bv"})
    pairs = seconds(lambda: total(left.join(f.broadcast(right), f.col("k") + f.col("bk") < -1), "v", "bv"))
    note("nestedLoopPair", pairs / PAIR_ROWS**2 * NANO, "a nested loop join without a hit, per pair")
    return found


if __name__ == "__main__":
    sys.exit(main())
