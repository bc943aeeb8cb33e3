"""A Spark driver of `memory`: a process whose JVM has the memory asked for, and which serves requests line by line.

    python -m dovetail_bench.memory_worker --memory 600m --cores 2

A request is a line of JSON on standard input: `statements` to execute and, optionally, a query `sql` to run with a time
limit and settings. Answers are lines of JSON: first the planned joins, then how the run ended. The plan is therefore
known even if the driver is lost during the run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, TextIO

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

import dovetail
from dovetail import _sql
from dovetail_bench.memory_plan import joins
from dovetail_bench.session import WRITE_BACK

OK = "ok"
FAILED = "failed"
TIMED_OUT = "timed out"
LOST = "lost driver"

# Partitions of a shuffle: tables of 250 MiB need this many to make plain Spark's tasks fit into the small driver.
PARTITIONS = 16
# Seconds after which a query is cancelled again, because adaptive execution submits further jobs after a cancellation.
CANCEL_AGAIN = 1.0
# Number of characters kept of an error.
ERROR = 400


# For runs of seconds, most of whose time would go into optimizing compilation.
COMPILE_QUICKLY = "-XX:TieredStopAtLevel=1"


def session(memory: str, cores: int, quick: bool) -> SparkSession:
    """A session in which Dovetail is verified to be on."""
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("dovetail memory")
        .config("spark.driver.memory", memory)
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(PARTITIONS))
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.driver.extraJavaOptions", COMPILE_QUICKLY if quick else "")
        .config(WRITE_BACK, "false")
    )
    spark = dovetail.enable(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    _sql.require_dovetail(spark)
    return spark


def answer(spark: SparkSession, request: Mapping[str, Any], out: TextIO) -> None:
    """Serves a request. The last line of the answer has a `state`."""

    def tell(**body: Any) -> None:
        print(json.dumps(body, default=str), file=out, flush=True)

    limit = _Limit(spark, request.get("limit", 0))
    started = time.monotonic()
    try:
        with _sql.settings(spark, request.get("conf", {})), limit:
            for statement in request.get("statements", []):
                spark.sql(statement).collect()
            rows: list[Any] = []
            plan: list[Any] = []
            if "sql" in request:
                started = time.monotonic()
                frame = spark.sql(request["sql"])
                execution = frame._jdf.queryExecution()
                tell(planned=[asdict(j) for j in joins(execution.executedPlan(), initial=True)])
                rows = [list(row) for row in frame.collect()]
                plan = [asdict(j) for j in joins(execution.executedPlan(), initial=False)]
        tell(state=OK, rows=rows, executed=plan, seconds=time.monotonic() - started)
    except (Py4JNetworkError, ConnectionError) as lost:
        tell(state=LOST, error=str(lost)[:ERROR], seconds=time.monotonic() - started)
        raise SystemExit(1) from None
    except Exception as failed:
        state = TIMED_OUT if limit.passed else FAILED
        tell(state=state, error=_error(str(failed)), seconds=time.monotonic() - started)


class _Limit:
    """Cancels all jobs after the given seconds, and again until the query is done; 0 means no limit."""

    def __init__(self, spark: SparkSession, seconds: float) -> None:
        self._spark, self._seconds = spark, seconds
        self._done = threading.Event()
        self.passed = False

    def __enter__(self) -> None:
        if self._seconds:
            threading.Thread(target=self._watch, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def _watch(self) -> None:
        wait = self._seconds
        while not self._done.wait(wait):
            self.passed, wait = True, CANCEL_AGAIN
            with suppress(Exception):
                self._spark.sparkContext.cancelAllJobs()


def _error(text: str) -> str:
    """The informative part of an error: from where it mentions memory, else its beginning."""
    for word in ("OutOfMemory", "UNABLE_TO_ACQUIRE_MEMORY", "memory", "maxResultSize"):
        at = text.find(word)
        if at >= 0:
            return text[max(0, at - ERROR // 4) : at + ERROR]
    return text[:ERROR]


def main() -> None:
    """Answers requests until the input ends."""
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.memory_worker")
    parser.add_argument("--memory", required=True)
    parser.add_argument("--cores", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    # Only answers go to standard output. The JVM inherits descriptor 1, which therefore becomes standard error.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    spark = session(options.memory, options.cores, options.quick)
    print(json.dumps({"version": spark.version, "state": OK}), file=out, flush=True)
    for line in sys.stdin:
        answer(spark, json.loads(line), out)
    spark.stop()


if __name__ == "__main__":
    main()
