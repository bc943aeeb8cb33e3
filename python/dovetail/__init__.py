"""Dovetail: better join orders for Apache Spark SQL.

    import dovetail
    from pyspark.sql import SparkSession

    spark = dovetail.enable(SparkSession.builder).getOrCreate()
    print(dovetail.status(spark))                      # checks that Dovetail is active
    dovetail.analyze(spark, "db.sales")                # collects statistics in one pass over the data
    print(dovetail.advise(spark, ["SELECT ..."]))      # shows what to analyze for these queries
    print(dovetail.explain("SELECT ...", spark))       # shows the join order before and after, and why
    print(dovetail.compare(spark, "SELECT ..."))       # runs the query with and without Dovetail
    dovetail.pins.capture(spark, "nightly", "SELECT ...")  # keeps this join order

These calls use SQL, so they also work over Spark Connect. The import does not need pyspark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail import errors, pins, rows
    from dovetail._attach import Attachment, attach
    from dovetail._history import SubplanHistory, history
    from dovetail._queries import LoggedQuery, queries
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
    from dovetail.statistics import ColumnStats, DatabaseStats, GroupStats, PartitionStats, TableStats, stats

__all__ = [
    "Advice",
    "Attachment",
    "Calibration",
    "ColumnStats",
    "Comparison",
    "Config",
    "CostConstant",
    "DatabaseStats",
    "DovetailError",
    "DovetailWarning",
    "Explanation",
    "GroupStats",
    "LoggedQuery",
    "NotEnabledError",
    "PartitionStats",
    "Run",
    "Status",
    "SubplanHistory",
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
    "history",
    "jar_path",
    "pins",
    "queries",
    "rows",
    "stats",
    "status",
    "version",
]

# Public names by module. A module is imported when one of its names is first used, so `import dovetail` is fast, and so
# is a command that only prints a path.
_MODULES = {
    "_attach": ("Attachment", "attach"),
    "_history": ("SubplanHistory", "history"),
    "_queries": ("LoggedQuery", "queries"),
    "_version": ("__version__",),
    "advice": ("Advice", "TableAdvice", "advise"),
    "analysis": ("analyze",),
    "calibration": ("Calibration", "CostConstant", "calibrate"),
    "comparison": ("Comparison", "Run", "compare"),
    "config": ("Config",),
    "errors": ("DovetailError", "DovetailWarning", "NotEnabledError"),
    "explanation": ("Explanation", "explain"),
    "jars": ("jar_path",),
    "probe": ("Status", "status", "version"),
    "session": ("enable",),
    "statistics": ("ColumnStats", "DatabaseStats", "GroupStats", "PartitionStats", "TableStats", "stats"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'dovetail' has no attribute '{name}'")
    module = importlib.import_module(f"dovetail.{_MODULE_OF.get(name, name)}")
    found = getattr(module, name) if name in _MODULE_OF else module
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
