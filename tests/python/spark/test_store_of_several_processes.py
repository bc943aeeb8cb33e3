"""The statistics store while processes write or are killed: no stored statistics are lost, and no query fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from frames import assert_rows
from pyspark.sql import DataFrame, SparkSession

# Analyzes every second partition of a table, from `first` on, `rounds` times.
ANALYZE = """
import sys
import dovetail
from pyspark.sql import SparkSession

path, store, first, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.dovetail.store.path", store).config("spark.driver.memory", "600m")
spark = dovetail.enable(builder).getOrCreate()
print("> ready", flush=True)
sys.stdin.readline()
print("> begun", flush=True)
for i in range(rounds):
    for p in range(first, 8, 2):
        # by another recipe all is read again
        spark.conf.set("spark.dovetail.privateColumns", "g" if i % 2 else "")
        spark.sql(f"DOVETAIL ANALYZE PATH parquet.`{path}` PARTITION (p = {p})").collect()
print("> done", flush=True)
"""

ROWS = 8000


def analyzer(path: str, store: str, first: int, rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ANALYZE, path, store, str(first), str(rounds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        start_new_session=True,
    )


def says(process: subprocess.Popen[str], what: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == f"> {what}":
            return
    raise AssertionError(f"a process ended before it said {what}")


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def known(spark: SparkSession, path: str) -> DataFrame:
    """Rows of the table, and whether all of its files were read."""
    return spark.sql(f"SELECT rows, fresh FROM dovetail_stats('parquet.`{path}`') WHERE kind = 'table'")


def test_two_processes_write_at_once_and_one_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    path, store = str(tmp_path / "t"), str(tmp_path / "store")
    spark.range(ROWS).selectExpr("id", "id % 7 AS g", "CAST(id % 8 AS INT) AS p").write.partitionBy("p").parquet(path)
    query = (
        f"SELECT count(*) AS n FROM parquet.`{path}` a JOIN parquet.`{path}` b ON a.id = b.id "
        f"JOIN range(10) c ON a.g = c.id"
    )
    pair = [analyzer(path, store, first, 1) for first in (0, 1)]
    killed = analyzer(path, store, 0, 1000)
    everyone = [*pair, killed]
    spark.conf.set("spark.dovetail.store.path", store)
    try:
        for process in everyone:
            says(process, "ready")
        for process in pair:
            go(process)
        for process in pair:
            says(process, "done")
        # each process has written four partitions into the same store file, at the same time
        assert_rows(known(spark, path), (ROWS, True))

        go(killed)
        says(killed, "begun")
        end = time.monotonic() + 2
        while time.monotonic() < end:
            assert_rows(spark.sql(query), (ROWS,))
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
        assert_rows(spark.sql(query), (ROWS,))
        assert_rows(known(spark, path).selectExpr(f"abs(rows - {ROWS}) < {ROWS / 10} AS near"), (True,))
        # the lock of the killed process is gone: a writer waits 20 s for a lock that is held
        start = time.monotonic()
        spark.sql(f"DOVETAIL ANALYZE PATH parquet.`{path}`").collect()
        assert_rows(known(spark, path), (ROWS, True))
        assert time.monotonic() - start < 20
    finally:
        spark.conf.unset("spark.dovetail.store.path")
        for process in everyone:
            process.kill()


def test_files_overwritten_with_the_same_length_and_time(spark: SparkSession, tmp_path: Path) -> None:
    path, other = tmp_path / "t", tmp_path / "other"
    spark.conf.set("spark.dovetail.store.path", str(tmp_path / "store"))
    try:
        # numbers as uncompressed text of the same length, so that the files have the same length
        for where, first in ((path, 1000), (other, 2000)):
            rows = spark.range(first, first + 1000, 1, 1).selectExpr("CAST(id AS STRING) AS k", "id % 10 AS g")
            rows.write.option("compression", "none").option("parquet.enable.dictionary", "false").parquet(str(where))
        spark.sql(f"DOVETAIL ANALYZE PATH parquet.`{path}`").collect()
        query = (
            f"SELECT count(*) AS n, min(a.k) AS k FROM parquet.`{path}` a "
            f"JOIN (SELECT CAST(id AS STRING) AS k FROM range(5000)) b ON a.k = b.k JOIN range(10) c ON a.g = c.id"
        )
        assert_rows(spark.sql(query), (1000, "1000"))
        frame = spark.sql(query)
        ours, theirs = next(path.glob("part-*")), next(other.glob("part-*"))
        then = ours.stat()
        assert theirs.stat().st_size == then.st_size
        # after Spark has analyzed the query, before it plans the query
        ours.write_bytes(theirs.read_bytes())
        os.utime(ours, ns=(then.st_atime_ns, then.st_mtime_ns))
        ours.with_name(f".{ours.name}.crc").unlink(missing_ok=True)
        assert_rows(frame, (1000, "2000"))
        assert_rows(spark.sql(query), (1000, "2000"))
    finally:
        spark.conf.unset("spark.dovetail.store.path")
