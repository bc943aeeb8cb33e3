"""Every error that Dovetail's Python package raises on purpose.

Each message says what was wrong, what is allowed, and what to do. All of them derive from `DovetailError`, so that one
`except` catches them; errors about a wrong argument also derive from `ValueError`. Errors of Spark itself (a query that
does not parse, a failing task) pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail._table_statistics import DatabaseStats

# How many names an error lists before it says how many more there are: a warehouse may have thousands of tables.
NAMES_SHOWN = 20


class DovetailError(Exception):
    """Base of every error that Dovetail raises on purpose.

    Attributes:
        condition: Its name where Dovetail's jar raised it, e.g. "DOVETAIL_PIN_NOT_FOUND"; else empty.
        sql_state: Its SQLSTATE where Dovetail's jar raised it; else empty.
        parameters: What the jar's message speaks of, by name.
    """

    condition: str = ""
    sql_state: str = ""
    parameters: Mapping[str, str] = MappingProxyType({})


class DovetailWarning(UserWarning):
    """Something worked, but not all of it; the message says which part did not."""


class PySparkMissingError(DovetailError):
    """No pyspark is installed where one is needed."""


class UnsupportedSparkError(DovetailError):
    """The Spark version has no Dovetail jar, or is not a version at all."""


class JarMissingError(DovetailError):
    """The jar of a supported Spark line is not where the package keeps its jars."""


class SessionRunningError(DovetailError):
    """A Spark session or JVM already runs without Dovetail, and jars cannot be added to it any more."""


class RemoteServerError(DovetailError):
    """The session is on a Spark Connect server elsewhere: Dovetail has to be switched on there."""


class NotEnabledError(DovetailError):
    """This session does not have Dovetail: `dovetail_version()` is unknown to it."""


class ConfigError(DovetailError, ValueError):
    """A setting's name or value is not one that Dovetail has."""


class StatementError(DovetailError, ValueError):
    """A statement or target given to Dovetail is malformed, or not of the kind that the call takes."""


class AnalyzeError(DovetailError):
    """Statistics could not be collected; the base of the errors of `dovetail.analyze`."""


class NotAnalyzableError(AnalyzeError, ValueError):
    """Spark's ANALYZE cannot do this at all: the kind of target, or the combination of arguments."""


class TargetNotFoundError(AnalyzeError, ValueError):
    """There is no table, view or database of this name."""


class ColumnNotFoundError(AnalyzeError, ValueError):
    """The table has no column of this name, or Spark cannot collect statistics for its type."""


class PartitionNotFoundError(AnalyzeError, ValueError):
    """The table is not partitioned like that, or has no such partition."""


class AnalyzeIncompleteError(AnalyzeError):
    """Some tables of a database could not be analyzed; the others were, and their statistics are kept.

    Attributes:
        done: Statistics of the tables that were analyzed.
        failures: Reason per table that was not.
    """

    def __init__(self, message: str, done: DatabaseStats, failures: Mapping[str, str]) -> None:
        super().__init__(message)
        self.done = done
        self.failures = dict(failures)


def listing(names: Iterable[str]) -> str:
    """Names for an error message: at most `NAMES_SHOWN` of them, then how many more.

    >>> listing(["a", "b"])
    'a, b'
    >>> listing([])
    '(none)'
    """
    names = list(names)
    shown = ", ".join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return (shown + (f" and {more} more" if more > 0 else "")) or "(none)"


def did_you_mean(wrong: str, known: Sequence[str]) -> str:
    """A sentence that proposes near matches, whatever their letter case; nothing where there are none.

    >>> did_you_mean("ss_itm_sk", ["ss_item_sk", "ss_store_sk", "d_year"])
    ' Did you mean ss_item_sk or ss_store_sk?'
    >>> did_you_mean("zzz", ["d_year"])
    ''
    """
    by_lower = {name.lower(): name for name in reversed(known)}
    close = [by_lower[name] for name in get_close_matches(wrong.lower(), by_lower, n=3)]
    return f" Did you mean {' or '.join(close)}?" if close else ""
