"""The demo's Spark session: Dovetail on, the data set as external tables, and one pass of `dovetail.analyze`.

The catalog is Spark's in-memory one, so that nothing is left behind. What the pass collects goes to a store of its own,
and not into Spark's catalog: the modes without it must not see it.
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

# Of the driver, which does all the work of a local session. q72 in Spark's own order spills heavily with less.
MEMORY = "3g"


@contextmanager
def session(work: Path) -> Iterator[SparkSession]:
    """A local session on all cores with its warehouse in `work`, stopped at the end.

    Raises:
        PySparkMissingError: No pyspark.
        NotEnabledError: The session came up without Dovetail.
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
    )
    spark = dovetail.enable(builder).getOrCreate()
    try:
        _sql.require_dovetail(spark)
        yield spark
    finally:
        spark.stop()


def register(spark: SparkSession, data: Dataset) -> None:
    """Makes the tables known."""
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
