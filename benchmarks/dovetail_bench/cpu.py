"""CPU time of the JVM's thread that works for the Python thread that asks: on a loaded machine, seconds say little."""

from __future__ import annotations

from pyspark.sql import SparkSession

# In a millisecond.
NANOSECONDS = 1_000_000


def thread_ms(spark: SparkSession) -> float:
    """CPU time that the thread has taken so far, in ms; py4j keeps one thread per Python thread."""
    beans = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    return float(beans.getThreadMXBean().getCurrentThreadCpuTime()) / NANOSECONDS
