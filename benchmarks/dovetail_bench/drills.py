"""Drills: a driver is killed while it analyzes, two drivers write at once, files are overwritten, a directory hangs.

    python -m dovetail_bench.drills --rounds 10

Queries run during and after each drill. No query may fail, return wrong rows, or take much longer to plan than with
plain Spark. Statistics that were known before must still be known. Exit code 1 if a drill violates this.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from dovetail import _sql
from dovetail.errors import DovetailError
from dovetail_bench import report
from dovetail_bench.drills_writer import PARTITIONS, RECIPES, STORES
from dovetail_bench.metrics import reason
from dovetail_bench.progress import say
from dovetail_bench.random_tables import seeded
from dovetail_bench.session import HISTORY, STORE, Bench, add_session_options, bench

ROWS = 80_000
DIMENSION = 10

# Milliseconds that planning may take beyond plain Spark's time and Dovetail's own budget, to allow for a busy machine.
SLACK_MS = 1500

# Seconds after its start within which a writer is killed.
KILLED_WITHIN = 3.0


@dataclass
class Drill:
    """Result of one drill.

    Attributes:
        name: Name in the report.
        rounds: Number of rounds.
        queries: Queries that ran during and after the drill.
        failed: Queries that raised an error.
        wrong: Queries that returned wrong rows.
        slow: Queries that took longer to plan than allowed.
        lost: Rounds after which earlier statistics were gone.
        slowest_ms: Longest planning time with Dovetail in ms, if the drill measures it.
        errors: First lines of the errors.
    """

    name: str
    rounds: int = 0
    queries: int = 0
    failed: int = 0
    wrong: int = 0
    slow: int = 0
    lost: int = 0
    slowest_ms: float = 0.0
    errors: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing went wrong."""
        return self.rounds > 0 and self.queries > 0 and not (self.failed or self.wrong or self.slow or self.lost)

    def ask(self, spark: SparkSession, sql: str, expected: tuple[Any, ...]) -> None:
        """Runs a query that returns one row, and counts an error or a wrong row."""
        self.queries += 1
        try:
            self.wrong += [tuple(row) for row in spark.sql(sql).collect()] != [expected]
        except Exception as failed:  # an error of Spark is what the drill looks for
            self.failed += 1
            self.errors.append(reason(failed))


class Writer:
    """A process that runs `drills_writer`."""

    def __init__(self, table: Path, store: Path, first: int, rounds: int, by: str) -> None:
        command = [sys.executable, "-m", "dovetail_bench.drills_writer", str(table), str(store), str(first)]
        path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [*command, str(rounds), by],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )

    def says(self, word: str) -> None:
        """Waits until the process prints a word."""
        if self._process.stdout is None or not any(line.strip() == f"> {word}" for line in self._process.stdout):
            raise RuntimeError(f"a writer ended before it said {word}")

    def go(self) -> None:
        """Lets the process begin."""
        if self._process.stdin is not None:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        self.says("begun")

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kills the process and its JVM."""
        if self.running:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _table(spark: SparkSession, path: Path) -> str:
    """Writes a partitioned table. Returns a query over it that Dovetail plans with its statistics."""
    columns = ("id", "id % 7 AS g", f"CAST(id % {PARTITIONS} AS INT) AS p")
    spark.range(ROWS).selectExpr(*columns).write.partitionBy("p").parquet(str(path))
    return (
        f"SELECT count(*) FROM parquet.`{path}` a JOIN parquet.`{path}` b ON a.id = b.id "
        f"JOIN range({DIMENSION}) c ON a.g = c.id"
    )


def _known(spark: SparkSession, path: Path) -> tuple[float, bool]:
    found = spark.sql(f"SELECT rows, fresh FROM dovetail_stats('parquet.`{path}`') WHERE kind = 'table'").collect()
    return (float(found[0]["rows"]), bool(found[0]["fresh"])) if found else (0.0, False)


def killed(session: Bench, work: Path, rounds: int) -> Drill:
    """Kills writers at random moments, between two partitions or within one."""
    drill, spark, chance = Drill("the driver is killed while it analyzes"), session.spark, seeded("drills")
    path, store = work / "killed", work / "killed-store"
    spark.conf.set(STORE, str(store))
    query = _table(spark, path)
    spark.sql(f"DOVETAIL ANALYZE PATH parquet.`{path}`").collect()
    for _ in range(rounds):
        writer = Writer(path, store, 0, 1000, RECIPES)
        try:
            writer.says("ready")
            writer.go()
            end = time.monotonic() + chance.uniform(0.0, KILLED_WITHIN)
            while time.monotonic() < end:
                drill.ask(spark, query, (ROWS,))
        finally:
            writer.kill()
        drill.ask(spark, query, (ROWS,))
        near = abs(_known(spark, path)[0] - ROWS) < ROWS / 10
        spark.sql(f"DOVETAIL ANALYZE PATH parquet.`{path}`").collect()
        drill.lost += not near or _known(spark, path) != (ROWS, True)
        drill.rounds += 1
    return drill


def two_writers(session: Bench, work: Path, rounds: int) -> Drill:
    """Lets two drivers write the statistics of one table at the same time, each for every second partition."""
    drill, spark = Drill("two drivers write at once"), session.spark
    path, store = work / "two", work / "two-store"
    spark.conf.set(STORE, f"{store}/0")
    query = _table(spark, path)
    writers = [Writer(path, store, first, rounds, STORES) for first in (0, 1)]
    try:
        for writer in writers:
            writer.says("ready")
        for writer in writers:
            writer.go()
        while any(writer.running for writer in writers):
            drill.ask(spark, query, (ROWS,))
    finally:
        for writer in writers:
            writer.kill()
    for number in range(rounds):
        spark.conf.set(STORE, f"{store}/{number}")
        drill.ask(spark, query, (ROWS,))
        drill.lost += _known(spark, path) != (ROWS, True)
        drill.rounds += 1
    return drill


def overwritten(session: Bench, work: Path, rounds: int) -> Drill:
    """Replaces a file by one of the same length and time, between the analysis and the planning of a query."""
    drill, spark = Drill("files are overwritten, same length and time"), session.spark
    spark.conf.set(STORE, str(work / "overwritten-store"))
    path, other = work / "now", work / "later"
    for where, first in ((path, 1000), (other, 2000)):
        rows = spark.range(first, first + 1000, 1, 1).selectExpr("CAST(id AS STRING) AS k", "id % 10 AS g")
        # numbers as texts of equal length, not compressed, make files of equal length
        rows.write.option("compression", "none").option("parquet.enable.dictionary", "false").parquet(str(where))
    ours, theirs = next(path.glob("part-*")), next(other.glob("part-*"))
    spark.sql(f"DOVETAIL ANALYZE PATH parquet.`{path}`").collect()
    query = (
        f"SELECT count(*), min(a.k) FROM parquet.`{path}` a "
        f"JOIN (SELECT CAST(id AS STRING) AS k FROM range(5000)) b ON a.k = b.k "
        f"JOIN range({DIMENSION}) c ON a.g = c.id"
    )
    contents = (ours.read_bytes(), theirs.read_bytes())
    for number in range(rounds):
        drill.ask(spark, query, (1000, "2000" if number % 2 else "1000"))
        frame = spark.sql(query)
        then = ours.stat()
        ours.write_bytes(contents[1 - number % 2])
        os.utime(ours, ns=(then.st_atime_ns, then.st_mtime_ns))
        ours.with_name(f".{ours.name}.crc").unlink(missing_ok=True)
        drill.queries += 1
        drill.wrong += tuple(frame.collect()[0]) != (1000, "1000" if number % 2 else "2000")
        drill.lost += ours.stat().st_size != then.st_size
        drill.rounds += 1
    return drill


def hanging(session: Bench, work: Path, rounds: int) -> Drill:
    """Plans a query over tables of a file system that hangs; in every second round, the store hangs, too."""
    drill, spark = Drill("a directory hangs"), session.spark
    budget = float(spark.conf.get("spark.dovetail.planning.maxMs", "2000") or 2000)
    for name, rows in (("a", 20_000), ("b", 2_000), ("c", 20)):
        spark.range(rows).selectExpr("id", "id % 20 AS g").write.parquet(str(work / "slow" / name))
        spark.read.parquet(f"hanging:{work / 'slow' / name}").createOrReplaceTempView(name)
    query = "SELECT count(*) FROM a JOIN b ON a.g = b.id JOIN c ON b.g = c.id WHERE a.id % 3 = 1"
    expected = tuple(_planned(spark, query, on=False)[1].collect()[0])
    for number in range(rounds):
        # in every second round, the store is on the hanging file system, too
        spark.conf.set(STORE, f"hanging:{work / 'slow' / 'store'}" if number % 2 else str(work / "quick-store"))
        spark.sql("DOVETAIL CLEAR CACHES").collect()
        (work / "HANG").touch()
        try:
            plain, _ = _planned(spark, query, on=False)
            ours, frame = _planned(spark, query, on=True)
        finally:
            (work / "HANG").unlink()
        drill.slowest_ms = max(drill.slowest_ms, round(ours, 1))
        drill.slow += ours > plain + budget + SLACK_MS
        drill.queries += 1
        drill.wrong += tuple(frame.collect()[0]) != expected
        drill.rounds += 1
    return drill


def _planned(spark: SparkSession, sql: str, on: bool) -> tuple[float, Any]:
    """Plans a query. Returns the milliseconds up to the physical plan, and the query."""
    spark.conf.set(_sql.ENABLED_KEY, str(on).lower())
    try:
        started = time.perf_counter()
        frame = spark.sql(sql)
        frame._jdf.queryExecution().executedPlan()
        return (time.perf_counter() - started) * 1000, frame
    finally:
        spark.conf.set(_sql.ENABLED_KEY, "true")


DRILLS: dict[str, Callable[[Bench, Path, int], Drill]] = {
    "killed": killed,
    "two_writers": two_writers,
    "overwritten": overwritten,
    "hanging": hanging,
}


def run(options: argparse.Namespace) -> list[Drill]:
    """Runs the chosen drills."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dovetail-drills-")))
        options.conf = [*_hanging_file_system(work), *options.conf]
        session = stack.enter_context(bench(options))
        session.spark.conf.set(HISTORY, "true")
        found = []
        for name in options.drills:
            found.append(DRILLS[name](session, work, options.rounds))
            say(str(found[-1]))
    return found


def _hanging_file_system(work: Path) -> list[str]:
    """Compiles the hanging file system. Returns the settings that register it."""
    source = Path(__file__).with_name("HangingFileSystem.java")
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    compiler = shutil.which("javac")
    if compiler is None:
        raise DovetailError("drills needs a JDK: javac was not found on the PATH.")
    subprocess.run([compiler, "-nowarn", "-cp", str(jars), "-d", str(work / "classes"), str(source)], check=True)
    return [
        f"spark.driver.extraClassPath={work / 'classes'}",
        "spark.hadoop.fs.hanging.impl=HangingFileSystem",
        f"spark.hadoop.fs.hanging.mark={work / 'HANG'}",
    ]


def targets(found: Sequence[Drill]) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    return [
        report.target(
            f"{drill.name}: no query fails, is wrong or late, nothing is lost",
            f"{drill.failed} failed, {drill.wrong} wrong, {drill.slow} late, {drill.lost} lost",
            drill.passed,
        )
        for drill in found
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.drills", description=head)
    parser.add_argument("--rounds", type=int, default=10, help="of each drill (10)")
    parser.add_argument("--drills", nargs="+", choices=DRILLS, default=list(DRILLS), help="which (all)")
    report.add_results_option(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    found = run(options)
    # the settings name paths of this machine
    options.conf = []
    page = report.Page("drills", "Drills")
    page.text(
        "A driver is killed (SIGKILL) up to three seconds after it began to analyze; two drivers analyze partitions of "
        "one table; files are replaced between a query's analysis and its planning; a file system does not respond "
        "while a query is planned, in every second round that of the statistics, too."
    )
    goals = targets(found)
    page.targets(goals)
    page.table("Drills", [{k: v for k, v in asdict(drill).items() if k != "errors"} for drill in found])
    page.write(options, {"targets": goals, "drills": [asdict(drill) for drill in found]})
    return 0 if all(drill.passed for drill in found) else 1


if __name__ == "__main__":
    sys.exit(main())
