"""Errors from Spark's JVM: their condition, their message, and whether Dovetail raised them.

An error has a condition (`TABLE_OR_VIEW_NOT_FOUND`), an SQLSTATE and message parameters. Conditions of Dovetail begin
with DOVETAIL_; `own_error` converts these errors to errors of the Python package. All other errors remain Spark's.

The text of a message is read only if an error has no condition: pyspark drops it from exceptions of classes that it
does not know, the Connect client of 3.5 does not send it, and a failed job in a classic session raises an error of
py4j. pyspark is imported inside the functions, so that `import dovetail` works without it.
"""

from __future__ import annotations

import re
from typing import Any

from dovetail.errors import (
    AnalyzeError,
    ColumnNotFoundError,
    ConfigError,
    DovetailError,
    NotAnalyzableError,
    PartitionNotFoundError,
    StatementError,
)

# Spark's conditions for "there is no such table", whichever part of its name is wrong.
_NO_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")

# Spark's conditions for files at a path that are not in the named format, and for a directory without files. Their
# texts name no path, or span several lines. The second one is that of Spark 3.5 and 4.0, the fourth that of Spark 3.5.
_UNREADABLE = (
    "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY",
    "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY",
    "UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN",
    "_LEGACY_ERROR_TEMP_1285",
    "UNABLE_TO_INFER_SCHEMA",
)

# Prefix of the names of Dovetail's conditions.
PREFIX = "DOVETAIL_"

# Python classes of Dovetail's conditions (up to the first dot). Any other condition becomes a DovetailError.
CLASSES: dict[str, type[DovetailError]] = {
    "DOVETAIL_NOT_A_QUERY": StatementError,
    "DOVETAIL_INVALID_ARGUMENT": StatementError,
    "DOVETAIL_INVALID_FILE": StatementError,
    "DOVETAIL_INVALID_ORDER": StatementError,
    "DOVETAIL_INVALID_SETTING": ConfigError,
    "DOVETAIL_PIN_NOT_FOUND": StatementError,
    "DOVETAIL_NOT_RECOGNIZABLE": StatementError,
    "DOVETAIL_NOT_ANALYZABLE": NotAnalyzableError,
    "DOVETAIL_COLUMN_NOT_FOUND": ColumnNotFoundError,
    "DOVETAIL_PARTITION_NOT_FOUND": PartitionNotFoundError,
    "DOVETAIL_STORE_NOT_WRITABLE": AnalyzeError,
}

# How Spark writes the condition and the SQLSTATE into a message: "[CONDITION.SUB] text SQLSTATE: 42601".
_IN_TEXT = re.compile(rf"(?m)(?:^|: |^\([\w.]+\) )\[({PREFIX}[A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\] ")
_STATE = re.compile(r" SQLSTATE: (\w{5})$")


def is_spark_error(error: BaseException) -> bool:
    """Whether this error was raised by Spark (classic or Connect) rather than by Python code."""
    try:
        from pyspark.errors import PySparkException
    except ImportError:
        return False
    # If pyspark has no class for an error, as for most failed jobs, classic sessions raise py4j's error.
    return isinstance(error, PySparkException) or type(error).__name__ == "Py4JJavaError"


def condition(error: BaseException) -> str:
    """The condition of an error, e.g. TABLE_OR_VIEW_NOT_FOUND; empty if it has none."""
    # 4.x: getCondition (getErrorClass is deprecated there); 3.5: getErrorClass.
    named = _asked(error, "getCondition" if hasattr(error, "getCondition") else "getErrorClass")
    if named:
        return str(named)
    in_text = _IN_TEXT.search(str(error))
    return in_text[1] if in_text else ""


def is_not_found(error: BaseException) -> bool:
    """Whether Spark says that there is no such table, view or path."""
    return is_no_path(error) or is_no_database(error)


def is_no_database(error: BaseException) -> bool:
    """Whether Spark says that there is no such database or catalog."""
    return is_spark_error(error) and condition(error).startswith(_NO_TABLE)


def is_no_path(error: BaseException) -> bool:
    """Whether Spark says that a path does not exist."""
    return is_spark_error(error) and condition(error) == "PATH_NOT_FOUND"


def is_unreadable(error: BaseException) -> bool:
    """Whether Spark says that it finds no data of the named format at a path."""
    return is_spark_error(error) and condition(error) in _UNREADABLE


def own_error(error: BaseException) -> DovetailError | None:
    r"""The error of the Python package for an error of the JVM; None if Dovetail did not raise it.

    >>> from dovetail import _spark_errors
    >>> _spark_errors._own("DOVETAIL_PIN_NOT_FOUND", "[DOVETAIL_PIN_NOT_FOUND] no pin 'a'. SQLSTATE: 42704", None, {})
    StatementError("no pin 'a'.")
    """
    if not is_spark_error(error):
        return None
    named = condition(error)
    if not named.startswith(PREFIX):
        return None
    return _own(
        named,
        _line_of(named, str(error)) or reason(error),
        _asked(error, "getSqlState"),
        _asked(error, "getMessageParameters") or {},
    )


def reason(error: BaseException) -> str:
    r"""The message of a Spark error in one line; for a failed job, the message of its cause.

    >>> job = "An error occurred while calling o1.sql.\n: X: Job aborted\n\tat a.b\nCaused by: Y: no Parquet\n\tat c"
    >>> reason(Exception(job)), reason(Exception("[A] one\ntwo"))
    ('Y: no Parquet', '[A] one')
    """
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
        return causes[-1] if causes else lines[1]
    return lines[0] if lines else type(error).__name__


def _line_of(named: str, text: str) -> str:
    """The text of an error from the condition to the end of its line. Lines with the causes of the error may follow."""
    return next((line[line.index(f"[{named}]") :] for line in text.splitlines() if f"[{named}]" in line), "")


def _own(named: str, text: str, state: str | None, parameters: dict[str, str]) -> DovetailError:
    found = _IN_TEXT.search(text)
    says = text[found.end() :] if found else text
    state_in_text = _STATE.search(says)
    error = CLASSES.get(named.partition(".")[0], DovetailError)(_STATE.sub("", says))
    error.condition = named
    error.sql_state = state or (state_in_text[1] if state_in_text else "")
    error.parameters = dict(parameters)
    return error


def _asked(error: BaseException, method: str) -> Any:
    """Calls a method of an error; None if it fails: subclasses in pyspark 3.5 do not support all methods."""
    try:
        return getattr(error, method)()
    except AttributeError:
        return None


def is_lost_jvm(error: BaseException) -> bool:
    """Whether the JVM of a classic session does not answer any more: py4j's own errors, and those of its sockets."""
    name = type(error).__name__
    # py4j raises a plain Py4JError if the JVM closes the connection of a call, and also for calls that do not exist
    closed = name == "Py4JError" and "Trace:" not in str(error)
    return closed or name == "Py4JNetworkError" or isinstance(error, ConnectionRefusedError)
