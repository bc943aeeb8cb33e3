"""Fixtures of all tests: a Spark session with Dovetail for the whole run, and a way to run code in separate processes.

Order of a run: unit (no JVM), spark (the session here), then tests that need separate processes. A process can start
only one JVM, so tests of its start (enable, a wrong jar, Connect) run in separate processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import dovetail
from dovetail.jars import parse_line, pyspark_version

ROOT = Path(__file__).resolve().parents[2]
ORDER = (
    "unit",
    "spark",
    "connect",
    "hive",
    "notebooks",
    "iceberg",
    "delta",
    "postgresql",
    "recipes",
    "wheel",
    "benchmarks",
)

# Import paths of a script in a separate process: the package, and code that tests share.
SCRIPTS_IMPORT = ("python", "tests/python/spark")

# Time limit of a separate process. A JVM needs about 10 s on a loaded machine; after this many seconds, it is stuck.
PROCESS_SECONDS = 240

# The JVMs of the tests live for seconds or a few minutes. For them, the JVM's second compiler costs more than it saves:
# without it, the tests of a session take little more than half of the CPU time. The compiled code does not fit into the
# 48 MiB that such a JVM reserves for it, and the JVM would interpret the rest.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:MetaspaceSize=200m -XX:+UseParallelGC"

# Classes of Spark that JVMs map instead of loading and verifying them one by one (tools/class_archive.py). A JVM with
# another class path ignores the archive, and must not print a warning between the lines that a test reads.
_ARCHIVE = ROOT / ".build" / "classes-{}.{}.jsa".format(*parse_line(pyspark_version()))
_SHARED = f" -XX:SharedArchiveFile={_ARCHIVE} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"

JVM_OPTIONS = {"SPARK_SUBMIT_OPTS": _QUICK + (_SHARED if _ARCHIVE.is_file() else "")}
os.environ.update(JVM_OPTIONS)

# Tests must not depend on the load of the machine or on earlier queries: planning budgets do not run out, and no
# history is kept unless a test is about it.
PATIENT: dict[str, Any] = {
    **{f"spark.dovetail.{key}": "60000" for key in ("planning.maxMs", "footers.maxMs", "reorder.maxPlanningMs")},
    "spark.dovetail.history.enabled": "false",
}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return ORDER.index(folder) if folder in ORDER else len(ORDER)

    items.sort(key=rank)


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root directory."""
    return ROOT


@pytest.fixture(scope="session")
def patient() -> dict[str, str]:
    """Settings under which no planning budget runs out and no history is kept."""
    return dict(PATIENT)


@pytest.fixture(scope="session")
def spark_line() -> tuple[int, int]:
    """Major and minor version of the pyspark that runs the tests."""
    return parse_line(pyspark_version())


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with Dovetail, its warehouse in a temporary directory, and a V2 catalog `v2` (JDBC, on Derby)."""
    home = tmp_path_factory.mktemp("spark")
    catalog = "spark.sql.catalog.v2"
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("dovetail tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        # a new JVM has enough other code to compile
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        # tiny queries: a hash table takes a page, a broadcast a block, and Spark removes old ones slowly
        .config("spark.buffer.pageSize", "1m")
        .config("spark.broadcast.blockSize", "64k")
        .config("spark.broadcast.compress", "false")
        .config("spark.shuffle.compress", "false")
        .config("spark.cleaner.referenceTracking.blocking", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home / 'derby'}")
        .config(catalog, "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
        .config(f"{catalog}.url", "jdbc:derby:memory:v2;create=true")
        .config(f"{catalog}.driver", "org.apache.derby.jdbc.EmbeddedDriver")
        .config(map=PATIENT)
    )
    session = dovetail.enable(builder).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def tables(spark: SparkSession) -> str:
    """A small star, database `star`: `sales` (10,000 rows by year and month), dimensions `item` and `store`."""
    spark.sql("CREATE DATABASE star")
    spark.sql(
        "CREATE TABLE star.sales USING parquet PARTITIONED BY (year, month) AS "
        "SELECT id AS sale, id % 100 AS item_id, id % 10 AS store_id, CAST(id AS DOUBLE) / 7 AS price, "
        "2023 + id % 2 AS year, concat('m', id % 3) AS month FROM range(10000)"
    )
    item = "SELECT id AS item_id, concat('item ', id) AS name FROM range(100)"
    spark.sql(f"CREATE TABLE star.item USING parquet AS {item}")
    spark.sql("CREATE TABLE star.store USING parquet AS SELECT id AS store_id, id % 3 AS region FROM range(10)")
    spark.sql("CREATE VIEW star.names AS SELECT name FROM star.item")
    return "star"


@pytest.fixture
def run_python(tmp_path: Path) -> Run:
    """Runs Python code in a separate process and a temporary directory; a failure fails the test, with its output."""

    def run(
        code: str, *arguments: str, env: dict[str, str] | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        imported = os.pathsep.join(str(ROOT / path) for path in SCRIPTS_IMPORT)
        environ |= {"PYTHONPATH": imported, **JVM_OPTIONS, **(env or {})}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), *arguments],
            capture_output=True,
            text=True,
            timeout=PROCESS_SECONDS,
            check=False,
            cwd=tmp_path,
            env=environ,
        )
        if check and done.returncode != 0:
            pytest.fail(f"exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done

    return run
