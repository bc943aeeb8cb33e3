"""SQL text and runtime configuration: the only module that calls `spark.sql` and `spark.conf`.

Both work in classic sessions and in Spark Connect. _py4j.py does what they cannot do. pyspark is imported inside the
functions, so that `import dovetail` works without it.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from dovetail import _py4j
from dovetail._error_text import kind_of
from dovetail._identifiers import Quotes, string_literal
from dovetail._spark_errors import condition, is_spark_error, own_error
from dovetail.errors import NotEnabledError, SessionStoppedError, StatementError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from _typeshed import DataclassInstance
    from pyspark.sql import DataFrame, Row, SparkSession

R = TypeVar("R", bound="DataclassInstance")

ENABLED_KEY = "spark.dovetail.enabled"

# "true" if backslashes in string literals of a session are plain characters (a legacy mode).
ESCAPED_LITERALS_KEY = "spark.sql.parser.escapedStringLiterals"

# Calls that run Dovetail's statements. They fail in a session whose parser does not know these statements.
NEED_STATEMENTS = (
    "dovetail.analyze, compare and calibrate, Advice.run, pins.capture, remove, save and load, and rows.tell, forget, "
    "save and load"
)

# pyspark's logger for the errors that it raises.
_QUERY_ERRORS = "SQLQueryContextLogger"

_UNKNOWN_FUNCTION = ("UNRESOLVABLE_TABLE_VALUED_FUNCTION", "UNRESOLVED_ROUTINE")
# If the current catalog is not Spark's own, Spark looks there for an unknown table function, and says that the catalog
# has none. The message names the catalog and not the function. The second condition is that of Spark 3.5, which also
# has it for other abilities.
_NO_FUNCTIONS = ("MISSING_CATALOG_ABILITY.TABLE_VALUED_FUNCTIONS", "_LEGACY_ERROR_TEMP_1184")
_NO_FUNCTIONS_TEXT = "does not support table-valued functions"

# The function that has no arguments: only this function itself can be unknown in a call of it.
_VERSION = "dovetail_version"

_NOT_ENABLED = (
    "Dovetail is not on in this Spark session. Start the session with "
    "dovetail.enable(SparkSession.builder).getOrCreate(), or bring Dovetail to this one: dovetail.attach(spark). Under "
    "spark-submit, pass the options that `dovetail submit-args` prints. If you did, the driver has no jar, or one for "
    "another Spark line, or another value has replaced spark.sql.extensions: `dovetail doctor` checks the installation."
)
# How the operator of a Spark Connect server adds Dovetail; clients cannot.
START_SERVER = (
    "start-connect-server.sh --jars <path of the jar> --conf spark.sql.extensions=dovetail.DovetailExtensions"
)
JAR_OF_SERVER = "`dovetail jar-path --spark-version <version of the server>` prints the path of the jar to copy there."
ON_DATABRICKS = "On Databricks, the init script of the cluster adds both: dovetail init-script --platform databricks."
_NOT_ON_SERVER = (
    "Dovetail is not on in this Spark Connect session. The start command of the server chooses jars and extensions: "
    f"{START_SERVER}. {JAR_OF_SERVER} {ON_DATABRICKS} If your program starts the server itself: "
    "dovetail.enable(SparkSession.builder.remote('local[*]'))."
)
_NO_STATEMENTS = (
    "Dovetail was attached to this running session, whose parser does not know DOVETAIL statements. These calls need "
    f"them: {NEED_STATEMENTS}. Use the session that attach() made, also to make DataFrames for these calls: "
    "spark = dovetail.attach(spark).session"
)
_STOPPED = "the session is stopped. Start one with dovetail.enable(SparkSession.builder).getOrCreate()."

# What pathlib makes of a URI: "s3a://bucket/x" loses a slash. A scheme has two letters or more, a drive of Windows one.
# Hadoop accepts one slash after "file:".
_SHORTENED_URI = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/(?!/)")

# First part of the names of Dovetail's settings.
_OURS = "spark.dovetail."

# One lock per session and setting that a call changes for a while. Settings belong to all threads of a session.
_CHANGES: WeakKeyDictionary[SparkSession, dict[str, threading.RLock]] = WeakKeyDictionary()
_CHANGES_LOCK = threading.Lock()


def rows(spark: SparkSession, statement: str) -> list[Row]:
    """Runs a statement and returns all its rows.

    Raises:
        DovetailError: Dovetail's jar raised an error. Spark's own errors are not changed.
    """
    try:
        with _told_once():
            return spark.sql(statement).collect()
    except Exception as error:
        ours = own_error(error)
        if ours is None:
            raise
        # the new error has the whole message of Dovetail's jar; `from None` hides the JVM's stack trace
        raise ours from None


def frame(spark: SparkSession, query: str) -> DataFrame:
    """The DataFrame of a query's text."""
    return spark.sql(query)


@contextmanager
def _told_once() -> Iterator[None]:
    """Stops pyspark from logging, with the JVM's stack, an error that the body of a `with` raises in this thread."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # pyspark 3.5 logs no errors
        yield
        return
    logger, thread = PySparkLogger.getLogger(_QUERY_ERRORS), threading.get_ident()

    def others(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger.addFilter(others)
    try:
        yield
    finally:
        logger.removeFilter(others)


def path_literal(spark: SparkSession, path: str | PathLike[str]) -> str:
    """A path as a string literal of this session's parser.

    Raises:
        StatementError: It is not a path, or a URI that a path object has changed.
    """
    if not isinstance(path, PathLike):
        return text_literal(spark, path, "path")
    text = fspath(path)
    if isinstance(text, str) and _SHORTENED_URI.match(text):
        raise StatementError(
            f"{path!r} has become {text!r}: path objects do not keep the slashes of a URI. Pass the URI as a str."
        )
    return text_literal(spark, text, "path")


def text_literal(spark: SparkSession, text: str, what: str = "") -> str:
    """A string as a SQL literal for this session's parser; `what` names the argument in the error message.

    Raises:
        StatementError: It is not a string.
    """
    if not isinstance(text, str):
        where = f" for {what}" if what else ""
        raise StatementError(f"text is expected{where}, got {text!r} ({kind_of(text)}). Pass a str.")
    return string_literal(text, quotes(spark))


def quotes(spark: SparkSession) -> Quotes:
    """How this session's parser reads string literals."""
    return Quotes.ADJACENT if is_true(spark, ESCAPED_LITERALS_KEY) else Quotes.BACKSLASH


def require_running(spark: SparkSession) -> None:
    """Checks that an argument is a session that runs.

    Raises:
        StatementError: It is not a session.
        SessionStoppedError: The session is stopped.
    """
    if not hasattr(spark, "sql"):
        raise StatementError(
            f"a Spark session is expected, got {kind_of(spark)}: pass the session that "
            "SparkSession.builder.getOrCreate() returned."
        )
    if not is_connect(spark) and _py4j.is_stopped(spark):
        raise SessionStoppedError(_STOPPED)


def function_rows(spark: SparkSession, function: str, *arguments: str) -> list[dict[str, Any]]:
    """All rows of one of Dovetail's table functions, as dictionaries by column name.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: The argument is not a session.
        SessionStoppedError: The session is stopped.
    """
    require_running(spark)
    # Literals rather than parameters: Spark 4.1 itself replaces parameters by literals in the text, and handles
    # backslashes wrongly if escapedStringLiterals is set.
    literals = ", ".join(text_literal(spark, argument) for argument in arguments)
    try:
        return [row.asDict() for row in rows(spark, f"SELECT * FROM {function}({literals})")]  # noqa: S608 - escaped
    except Exception as error:
        if is_spark_error(error) and _says_unknown(spark, function, error):
            raise NotEnabledError(_not_enabled(spark)) from None
        raise


def _says_unknown(spark: SparkSession, function: str, error: Exception) -> bool:
    """Whether Spark says that there is no such table function."""
    named = condition(error)
    if named in _NO_FUNCTIONS and _NO_FUNCTIONS_TEXT in str(error):
        # an argument of the call may be a query with an unknown function
        return function == _VERSION or not has_dovetail(spark)
    return named.startswith(_UNKNOWN_FUNCTION) and function in str(error)


def _not_enabled(spark: SparkSession) -> str:
    return _NOT_ON_SERVER if is_connect(spark) else _NOT_ENABLED


def records(spark: SparkSession, function: str, kind: type[R]) -> list[R]:
    """All rows of one of Dovetail's table functions, as values of a dataclass whose fields are its columns.

    Columns that the class does not have are left out: the jar on a Spark Connect server may be newer than this package.
    """
    names = [field.name for field in fields(kind)]

    def known(row: dict[str, Any]) -> R:
        values = {name: row[name] for name in names if name in row}
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})

    return [known(row) for row in function_rows(spark, function)]


def statement_rows(spark: SparkSession, statement: str) -> list[Row]:
    """Runs one of Dovetail's own statements and returns its rows.

    Raises:
        NotEnabledError: The session's parser does not know Dovetail's statements.
    """
    try:
        return rows(spark, statement)
    except Exception as error:
        if is_spark_error(error) and condition(error) == "PARSE_SYNTAX_ERROR" and "near 'DOVETAIL'" in str(error):
            raise NotEnabledError(_NO_STATEMENTS if has_dovetail(spark) else _not_enabled(spark)) from None
        raise


def profile(spark: SparkSession, query: str) -> dict[str, Any]:
    """Runs a query once on the server and returns the report of `DOVETAIL PROFILE`.

    Raises:
        NotEnabledError: The session does not have Dovetail.
    """
    require_dovetail(spark)
    report: dict[str, Any] = json.loads(statement_rows(spark, f"DOVETAIL PROFILE {query}")[0][0])
    return report


def has_dovetail(spark: SparkSession) -> bool:
    """Whether this session knows `dovetail_version()`."""
    try:
        require_dovetail(spark)
    except NotEnabledError:
        return False
    return True


def require_dovetail(spark: SparkSession) -> None:
    """Raises NotEnabledError, with instructions, if the session does not have Dovetail."""
    function_rows(spark, _VERSION)


def setting(spark: SparkSession, key: str) -> str | None:
    """A configuration value of the session as text; None if it is not set."""
    return spark.conf.get(key, None)


def is_true(spark: SparkSession, key: str) -> bool:
    """Whether a setting is true. Spark accepts any letter case and blanks, and keeps them in the value."""
    return (setting(spark, key) or "").strip().lower() == "true"


def put(spark: SparkSession, key: str, value: str) -> None:
    """Sets a configuration key of the session."""
    spark.conf.set(key, value)


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Sets configuration values for the body of a `with`, and restores the earlier values afterwards in any case.

    Another thread that changes the same settings of the session waits, or it would take these values for the earlier
    ones.
    """
    with _CHANGES_LOCK:
        of_session = _CHANGES.setdefault(spark, {})
        # always in the same order, so that no two threads wait for each other
        locks = [of_session.setdefault(key, threading.RLock()) for key in sorted(values)]
    with ExitStack() as held:
        for lock in locks:
            held.enter_context(lock)
        # all of them are restored, even if one fails
        for key in values:
            held.callback(_restore, spark, key, setting(spark, key))
        for key, value in values.items():
            spark.conf.set(key, value)
        yield


def _restore(spark: SparkSession, key: str, old: str | None) -> None:
    """Sets a configuration key to its earlier value."""
    if old is not None:
        try:
            spark.conf.set(key, old)
            return
        except Exception:
            # a wrong value from spark-defaults.conf had no effect, and no statement may set it
            if not key.startswith(_OURS):
                raise
    spark.conf.unset(key)


@contextmanager
def switched(spark: SparkSession, enabled: bool) -> Iterator[None]:
    """Turns Dovetail on or off for the body of a `with`; another thread that does so in the same session waits."""
    with settings(spark, {ENABLED_KEY: "true" if enabled else "false"}):
        yield


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is a client of Spark Connect, which has no context."""
    return any(part.__module__.startswith("pyspark.sql.connect") for part in type(spark).__mro__)


def running_session() -> SparkSession | None:
    """The running session of this process, classic or Connect; None if there is none.

    Makes no session: it would have no options, and a later `getOrCreate()` with options would return it.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    active: SparkSession | None = None if _py4j.active_is_stopped() else SparkSession.getActiveSession()
    if active is not None:
        return active
    # getActiveSession knows only this thread's session; a session that another thread started counts as well.
    return SparkSession.builder.getOrCreate() if _py4j.session_runs() else None


def session_or_active(spark: SparkSession | None) -> SparkSession:
    """The given session, or else the running one.

    Raises:
        StatementError: There is neither.
    """
    session = spark if spark is not None else running_session()
    if session is None:
        raise StatementError("no Spark session: pass one, e.g. dovetail.explain(sql, spark).")
    return session
