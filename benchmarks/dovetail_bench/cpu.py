"""CPU time of the JVM thread that serves a Python thread: on a loaded machine, wall-clock time says little."""

from __future__ import annotations

from pyspark.sql import SparkSession

# Nanoseconds per millisecond.
NANOSECONDS = 1_000_000


def thread_ms(spark: SparkSession) -> float:
    """CPU time that the JVM thread of the caller has used so far, in ms; Py4J keeps one thread per Python thread."""
    beans = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    return float(beans.getThreadMXBean().getCurrentThreadCpuTime()) / NANOSECONDS
