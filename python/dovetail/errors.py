"""All errors that Dovetail's Python package raises itself.

Each message says what is wrong, what is allowed, and what to do. All errors derive from `DovetailError`, so one
`except` catches them. Errors about a wrong argument also derive from `ValueError`. Spark's own errors (a query that
does not parse, a failing task) are not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail._table_statistics import DatabaseStats


class DovetailError(Exception):
    """Base class of all errors that Dovetail raises itself.

    Attributes:
        condition: Name of the error if Dovetail's jar raised it, e.g. "DOVETAIL_PIN_NOT_FOUND"; otherwise empty.
        sql_state: SQLSTATE of the error if Dovetail's jar raised it; otherwise empty.
        parameters: Parameters of the jar's message, by name.
    """

    condition: str = ""
    sql_state: str = ""
    parameters: Mapping[str, str] = MappingProxyType({})


class DovetailWarning(UserWarning):
    """A call succeeded only in part; the message says which part failed."""


class PySparkMissingError(DovetailError):
    """The call needs pyspark, but pyspark is not installed."""


class UnsupportedSparkError(DovetailError):
    """Dovetail has no jar for the Spark version, or the text is not a version."""


class JarMissingError(DovetailError):
    """The jar of a supported Spark line is missing from the package, or spark.jars cannot name its path."""


class SessionRunningError(DovetailError):
    """A Spark session or JVM already runs without Dovetail and accepts no more jars."""


class SessionStoppedError(DovetailError):
    """The session is stopped."""


class RemoteServerError(DovetailError):
    """The session is on a remote Spark Connect server; Dovetail must be enabled on that server."""


class NotEnabledError(DovetailError):
    """The session runs without Dovetail.

    Or Dovetail was attached to it while it ran, and the call needs its statements.
    """


class ConfigError(DovetailError, ValueError):
    """Dovetail has no setting of this name, or the value is not allowed."""


class StatementError(DovetailError, ValueError):
    """A statement or target is malformed, or not of the kind that the call accepts."""


class AnalyzeError(DovetailError):
    """Statistics could not be collected; base class of the errors of `dovetail.analyze`."""


class NotAnalyzableError(AnalyzeError, ValueError):
    """The target, or the combination of arguments, cannot be analyzed."""


class TargetNotFoundError(AnalyzeError, ValueError):
    """No table, view or database has this name."""


class ColumnNotFoundError(AnalyzeError, ValueError):
    """The table has no column of this name, or Spark cannot collect statistics for its type."""


class PartitionNotFoundError(AnalyzeError, ValueError):
    """The table is not partitioned by this column, or has no such partition."""


class AnalyzeIncompleteError(AnalyzeError):
    """Some tables of a database could not be analyzed. The statistics of the others are kept.

    Attributes:
        done: Statistics of the tables that were analyzed.
        failures: Reason for each table that was not analyzed.
    """

    def __init__(self, message: str, done: DatabaseStats, failures: Mapping[str, str]) -> None:
        super().__init__(message)
        self.done = done
        self.failures = dict(failures)

    def __reduce__(self) -> tuple[Any, ...]:
        # an exception is copied by a call with its args, which are only the message
        return type(self), (str(self), self.done, self.failures), self.__dict__
