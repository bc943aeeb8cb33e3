"""The demo's Spark session: Dovetail on, the data set as external tables, and one pass of `dovetail.analyze`.

The catalog is Spark's in-memory catalog, so that nothing is left behind. The pass writes its statistics to a separate
store and not into Spark's catalog, because the modes without these statistics must not see them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import dovetail
from dovetail import _sql
from dovetail._identifiers import quote
from dovetail.demo.data import Dataset
from dovetail.demo.measure import ANALYZED
from dovetail.errors import DovetailError, PySparkMissingError
from dovetail.progress import progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATABASE = "tpcds"

# Memory of the driver, which does all the work of a local session. With less memory, q72 in Spark's own order spills
# heavily.
MEMORY = "3g"


@contextmanager
def session(work: Path) -> Iterator[SparkSession]:
    """A local session on all cores with its warehouse in `work`, stopped at the end.

    Raises:
        PySparkMissingError: pyspark is not installed.
        NotEnabledError: The session started without Dovetail.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise PySparkMissingError("pyspark is not installed: pip install 'dovetail-spark[demo,spark]'.") from missing
    builder = (
        SparkSession.builder.master(f"local[{os.cpu_count() or 1}]")
        .appName("dovetail demo")
        .config("spark.driver.memory", MEMORY)
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.dovetail.store.writeBack", "false")
        .config("spark.sql.warehouse.dir", str(work / "warehouse"))
        # whatever spark-defaults.conf says: the user's metastore and catalogs get no tables of the demo
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.sql.defaultCatalog", "spark_catalog")
    )
    spark = dovetail.enable(builder).getOrCreate()
    try:
        _sql.require_dovetail(spark)
        yield spark
    finally:
        spark.stop()


def register(spark: SparkSession, data: Dataset) -> None:
    """Creates the database and its external tables."""
    _sql.rows(spark, f"CREATE DATABASE {DATABASE}")
    _sql.rows(spark, f"USE {DATABASE}")
    for table in data.tables:
        location = _sql.text_literal(spark, data.location(table).as_posix())
        _sql.rows(spark, f"CREATE TABLE {quote(table)} USING parquet LOCATION {location}")


def analyze(spark: SparkSession, stores: Path, data: Dataset, texts: Collection[str]) -> None:
    """Collects statistics of the tables that the queries read, each in one pass over the columns that they name."""
    words = {word for text in texts for word in re.findall(r"\w+", text.lower())}
    todo = {
        table: columns
        for table in data.tables
        if table in words and (columns := [c for c in spark.table(table).columns if c in words])
    }
    if not todo:
        raise DovetailError("the queries name no column of any table.")
    with _sql.settings(spark, ANALYZED.settings(stores)), progress("analyze", len(todo)) as shown:
        for table, columns in todo.items():
            with shown.step(f"{table} ({len(columns)} columns)"):
                dovetail.analyze(spark, f"{DATABASE}.{table}", columns=columns, progress=False)
