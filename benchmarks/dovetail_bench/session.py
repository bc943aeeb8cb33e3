"""One Spark session for plain Spark, Spark's CBO and Dovetail in turns: a mode is runtime settings and a database.

Every data set is registered twice over the same files. In one database, all columns are analyzed; in the other, none.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import dovetail
from dovetail import _py4j, _sql
from dovetail.demo.data import Dataset, dataset
from dovetail.errors import DovetailError
from dovetail_bench.progress import say
from dovetail_bench.queries import FOLDERS, Query, load

CBO = "spark.sql.cbo.enabled"
CBO_REORDER = "spark.sql.cbo.joinReorder.enabled"
STORE = "spark.dovetail.store.path"
WRITE_BACK = "spark.dovetail.store.writeBack"
HISTORY = "spark.dovetail.history.enabled"


@dataclass(frozen=True)
class Mode:
    """One way to run a query.

    Attributes:
        name: Name on the command line and in the JSON.
        title: Title in tables.
        analyzed: Whether it reads the database in which all columns are analyzed.
        conf: Settings; every mode has the same keys.
        collected: Whether it uses the statistics that `Bench.collect` collected.
    """

    name: str
    title: str
    analyzed: bool
    conf: Mapping[str, str]
    collected: bool = False


def _conf(*, dovetail: bool, cbo: bool) -> dict[str, str]:
    return {_sql.ENABLED_KEY: str(dovetail).lower(), CBO: str(cbo).lower(), CBO_REORDER: str(cbo).lower()}


SPARK = Mode("spark", "Spark", False, _conf(dovetail=False, cbo=False))
SPARK_CBO = Mode("cbo", "Spark CBO", True, _conf(dovetail=False, cbo=True))
DOVETAIL = Mode("dovetail", "Dovetail", True, _conf(dovetail=True, cbo=False))
DOVETAIL_BARE = Mode("dovetail_bare", "Dovetail, nothing analyzed", False, _conf(dovetail=True, cbo=False))
DOVETAIL_ONE_PASS = Mode(
    "dovetail_one_pass", "Dovetail, one pass", False, _conf(dovetail=True, cbo=False), collected=True
)
DOVETAIL_BARE_CBO = Mode(
    "dovetail_bare_cbo", "Dovetail and Spark's CBO, nothing analyzed", False, _conf(dovetail=True, cbo=True)
)

# What the planner knows about the tables, for commands that measure Dovetail alone.
STATISTICS = {"bare": DOVETAIL_BARE, "bare_cbo": DOVETAIL_BARE_CBO, "analyzed": DOVETAIL}


class Bench:
    """The session with its databases, and two stores of statistics: one that stays empty, and one for `collect`."""

    def __init__(self, spark: SparkSession, stores: Path) -> None:
        self.spark = spark
        self.analyze_seconds: dict[str, float] = {}
        self.collect_seconds: dict[str, float] = {}
        self.stores = stores

    def register(self, data: Dataset, analyze: bool = True) -> None:
        """Registers the tables in a bare database and, if asked for, in one in which all columns are analyzed."""
        for analyzed in (False, True) if analyze else (False,):
            database = _database(data, analyzed)
            self.spark.sql(f"CREATE DATABASE {database}")
            for table in data.tables:
                location = data.location(table).as_posix().replace("\\", "\\\\").replace("'", "\\'")
                self.spark.sql(f"CREATE TABLE {database}.{table} USING parquet LOCATION '{location}'")
        if analyze:
            started = time.monotonic()
            for table in data.tables:
                say(f"analyzing {data.benchmark} {table}")
                self.spark.sql(f"ANALYZE TABLE {_database(data, True)}.{table} COMPUTE STATISTICS FOR ALL COLUMNS")
            self.analyze_seconds[data.benchmark] = round(time.monotonic() - started, 1)

    def collect(self, data: Dataset) -> None:
        """Collects statistics of the bare tables, in one pass over each, for modes that are `collected`."""
        self.use(DOVETAIL_ONE_PASS, data)
        started = time.monotonic()
        for table in data.tables:
            say(f"collecting {data.benchmark} {table}")
            dovetail.analyze(self.spark, table, progress=False)
        self.collect_seconds[data.benchmark] = round(time.monotonic() - started, 1)

    def switch(self, mode: Mode) -> None:
        """Switches to the mode in which later queries are planned."""
        for key, value in mode.conf.items():
            self.spark.conf.set(key, value)
        self.spark.conf.set(STORE, str(self.stores / ("collected" if mode.collected else "empty")))

    def use(self, mode: Mode, data: Dataset) -> None:
        """Switches to the mode and the data set of later queries."""
        self.switch(mode)
        self.spark.sql(f"USE {_database(data, mode.analyzed)}")


def _database(data: Dataset, analyzed: bool) -> str:
    return f"{data.benchmark}_{'analyzed' if analyzed else 'bare'}"


def add_session_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="cores of the local Spark (all)")
    parser.add_argument("--memory", default="3g", help="memory of the driver, which does all the work (3g)")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="further configuration, for all modes alike"
    )


def add_statistics_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option of commands whose tables have statistics or have none."""
    parser.add_argument("--statistics", choices=STATISTICS, default="bare", help="what is known of the tables (bare)")


@contextmanager
def bench(options: argparse.Namespace) -> Iterator[Bench]:
    """A session in which Dovetail is verified to be on, and which is stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as work:
        builder = (
            SparkSession.builder.master(f"local[{options.cores}]")
            .appName("dovetail benchmarks")
            .config("spark.driver.memory", options.memory)
            .config("spark.driver.host", "localhost")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.session.timeZone", "UTC")
            # what Dovetail collects must not help the other modes
            .config(WRITE_BACK, "false")
            # and what a query did in one round must not help the next round, unless that is measured
            .config(HISTORY, "false")
            .config("spark.sql.warehouse.dir", str(Path(work) / "warehouse"))
        )
        for key, value in _pairs(options.conf):
            builder = builder.config(key, value)
        spark = dovetail.enable(builder).getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        _py4j.take_ctrl_c()
        try:
            # Without Dovetail the run would compare plain Spark with itself.
            _sql.require_dovetail(spark)
            yield Bench(spark, Path(work) / "stores")
        finally:
            spark.stop()


@contextmanager
def suite_bench(options: argparse.Namespace, mode: Mode) -> Iterator[tuple[Bench, Dataset, list[Query]]]:
    """A session that uses a suite's data set in one mode; yields it with the data set and the chosen queries."""
    data = dataset(FOLDERS[options.suite][1], options.scale, options.data_dir)
    queries = load(options.suite, options.queries)[:: options.every]
    with bench(options) as session:
        session.register(data, analyze=mode.analyzed)
        session.use(mode, data)
        yield session, data, queries


def frame_of(spark: SparkSession, sql: str) -> DataFrame:
    """A query. `SparkSession.sql` would look for classes by name each time, in every jar and in vain."""
    return DataFrame(spark._jsparkSession.sql(sql), spark)


def without_errors(spark: SparkSession) -> None:
    """Keeps errors of statements out of the logs if many statements are meant to fail: the errors are compared."""
    spark.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


def _pairs(settings: Sequence[str]) -> Iterator[tuple[str, str]]:
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise DovetailError(f"--conf {setting}: expected KEY=VALUE")
        yield key, value
