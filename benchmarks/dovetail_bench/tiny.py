"""Settings that keep many tiny queries from spending their time on compilers, empty tasks and removal of old data."""

from __future__ import annotations

from pyspark.sql import SparkSession

# Settings of each query: Spark generates no code.
QUERY = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

# Settings of the session, before `--conf`. A hash table takes at least one page. Spark removes old broadcasts one after
# the other, more slowly than tiny queries make them, and each removal takes longer the more are left: 11,000 after
# 1,500 queries. A broadcast is written into blocks that are allocated in full. No data is large enough to be worth
# compressing. The status store keeps few executions, because it goes through all of them to find the oldest. G1 would
# treat the pages as humongous objects and mark the heap for each.
_SESSION = (
    "spark.buffer.pageSize=1m",
    "spark.cleaner.referenceTracking.blocking=false",
    "spark.broadcast.compress=false",
    "spark.broadcast.blockSize=64k",
    "spark.shuffle.compress=false",
    "spark.sql.ui.retainedExecutions=100",
    "spark.ui.retainedJobs=100",
    "spark.ui.retainedStages=100",
    "spark.ui.retainedTasks=1000",
)
_JAVA = "spark.driver.extraJavaOptions=-XX:+UseParallelGC -XX:ReservedCodeCacheSize=512m"

# Number of queries or files of a JVM from which the second compiler pays for itself: `fuzz` runs 3.5 queries a second
# without it and, from the thousandth on, 6.2 with it.
LONG = 1000


def session(pieces: int) -> tuple[str, ...]:
    """Settings of a session that runs this many queries or files."""
    return (*_SESSION, _JAVA if pieces > LONG else f"{_JAVA} -XX:TieredStopAtLevel=1")


def without_defaults(spark: SparkSession) -> None:
    """Removes Hadoop's default settings from the session, which Hadoop's code knows as well.

    Every scan of a table sends all settings to its tasks: 6 ms for 1,100 settings, as long as a scan of a tiny table.
    """
    spark.sparkContext._jsc.hadoopConfiguration().clear()
