"""Dovetail: better join orders for Apache Spark SQL.

    import dovetail
    from pyspark.sql import SparkSession

    spark = dovetail.enable(SparkSession.builder).getOrCreate()
    print(dovetail.status(spark))                      # is it on?
    dovetail.analyze(spark, "db.sales")                # statistics, in one pass over the data
    print(dovetail.advise(spark, ["SELECT ..."]))      # what to analyze for these queries
    print(dovetail.explain("SELECT ...", spark))       # join order before and after, and why
    print(dovetail.compare(spark, "SELECT ..."))       # with and without, same answer checked
    dovetail.pins.capture(spark, "nightly", "SELECT ...")  # this order is to stay

Everything here speaks SQL to the session, so it works over Spark Connect as well. Importing needs no pyspark.
"""

from dovetail import errors, pins, rows
from dovetail._attach import Attached, attach
from dovetail._version import __version__
from dovetail.advice import Advice, TableAdvice, advise
from dovetail.analysis import analyze
from dovetail.calibration import Calibration, CostConstant, calibrate
from dovetail.comparison import Comparison, Run, compare
from dovetail.config import Config
from dovetail.errors import DovetailError, DovetailWarning, NotEnabledError
from dovetail.explanation import Explanation, explain
from dovetail.jars import jar_path
from dovetail.probe import Status, status, version
from dovetail.session import enable
from dovetail.statistics import ColumnStats, DatabaseStats, PartitionStats, TableStats, stats

__all__ = [
    "Advice",
    "Attached",
    "Calibration",
    "ColumnStats",
    "Comparison",
    "Config",
    "CostConstant",
    "DatabaseStats",
    "DovetailError",
    "DovetailWarning",
    "Explanation",
    "NotEnabledError",
    "PartitionStats",
    "Run",
    "Status",
    "TableAdvice",
    "TableStats",
    "__version__",
    "advise",
    "analyze",
    "attach",
    "calibrate",
    "compare",
    "enable",
    "errors",
    "explain",
    "jar_path",
    "pins",
    "rows",
    "stats",
    "status",
    "version",
]
