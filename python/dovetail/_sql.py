"""The bridge to Spark: the only module that calls `spark.sql` and `spark.conf`, and nothing deeper.

SQL text and runtime configuration work alike in classic sessions, in Spark Connect and through Thrift; py4j does not.
pyspark is imported inside the functions, so that `import dovetail` works without it.
"""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail._identifiers import string_literal
from dovetail.errors import NotEnabledError, StatementError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

ENABLED_KEY = "spark.dovetail.enabled"

# True where a session reads backslashes in string literals as they stand (a legacy mode).
ESCAPED_LITERALS_KEY = "spark.sql.parser.escapedStringLiterals"

_UNKNOWN_FUNCTION = ("UNRESOLVABLE_TABLE_VALUED_FUNCTION", "UNRESOLVED_ROUTINE")
_NOT_ENABLED = (
    "Dovetail is not on in this Spark session: it does not know dovetail_version(). Either the session was started "
    "without it, or its jar is for another Spark line and switched itself off (the driver's log has one line that says "
    "so). Start the session with dovetail.enable(SparkSession.builder).getOrCreate(), or spark-submit with the words "
    "that `dovetail submit-args` prints; `dovetail doctor` checks the installation."
)
_NO_STATEMENTS = (
    "this session has Dovetail by dovetail.attach: its parser was made before, and knows no DOVETAIL statements, which "
    "dovetail.analyze and dovetail.compare need. Use the session that attach() made: "
    "spark = dovetail.attach(spark).session"
)


def rows(spark: SparkSession, statement: str) -> list[Row]:
    """Runs a statement and returns all its rows."""
    return spark.sql(statement).collect()


def text_literal(spark: SparkSession, text: str) -> str:
    """A string as the literal that this session's parser reads back as that string."""
    return string_literal(text, escapes(spark))


def escapes(spark: SparkSession) -> bool:
    """Whether this session's parser knows backslash escapes in string literals."""
    return setting(spark, ESCAPED_LITERALS_KEY) != "true"


def function_rows(spark: SparkSession, function: str, *arguments: str) -> list[dict[str, Any]]:
    """All rows of one of Dovetail's table functions, as dictionaries by column name.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: This is no session.
    """
    if not hasattr(spark, "sql"):
        raise StatementError(f"a Spark session is expected as the first argument, got {type(spark).__name__}.")
    # Literals, not parameters: Spark 4.1 puts parameters into the text as literals itself, and gets backslashes wrong
    # where escapedStringLiterals is set.
    literals = ", ".join(text_literal(spark, argument) for argument in arguments)
    try:
        return [row.asDict() for row in rows(spark, f"SELECT * FROM {function}({literals})")]  # noqa: S608 - escaped
    except Exception as error:
        if is_spark_error(error) and condition(error).startswith(_UNKNOWN_FUNCTION) and function in str(error):
            raise NotEnabledError(_NOT_ENABLED) from error
        raise


def statement_rows(spark: SparkSession, statement: str) -> list[Row]:
    """Runs one of Dovetail's own statements and returns its rows.

    Raises:
        NotEnabledError: The session's parser does not know them.
    """
    try:
        return rows(spark, statement)
    except Exception as error:
        if is_spark_error(error) and condition(error) == "PARSE_SYNTAX_ERROR" and "'DOVETAIL'" in str(error):
            raise NotEnabledError(_NO_STATEMENTS if has_dovetail(spark) else _NOT_ENABLED) from error
        raise


def profile(spark: SparkSession, query: str) -> dict[str, Any]:
    """Runs a query once on the server and returns what it did, as `DOVETAIL PROFILE` reports it.

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
    """Raises NotEnabledError, with what to do, where the session does not have Dovetail."""
    function_rows(spark, "dovetail_version")


def setting(spark: SparkSession, key: str) -> str | None:
    """A configuration value of the session as it was set, None where it was not."""
    return spark.conf.get(key, None)


def put(spark: SparkSession, key: str, value: str) -> None:
    """Gives a configuration key of the session a value."""
    spark.conf.set(key, value)


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Sets configuration values for the body of a `with`; however it ends, what was there before is put back."""
    before = {key: setting(spark, key) for key in values}
    try:
        for key, value in values.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is a client of Spark Connect, which has no context."""
    return "connect" in type(spark).__module__


@contextmanager
def cancellable(spark: SparkSession) -> Iterator[str]:
    """Cancels the jobs that the body of a `with` started where it is interrupted (Ctrl-C), and no others.

    Yields the tag that its jobs have.
    """
    tag = f"dovetail-{uuid.uuid4().hex}"
    cancel: Callable[[str], object]
    forget: Callable[[str], object]
    if is_connect(spark):
        spark.addTag(tag)
        cancel, forget = spark.interruptTag, spark.removeTag
    else:
        # not the session's tags, which belong to the calling thread of the JVM: after Ctrl-C that is another one
        context = spark.sparkContext
        context.addJobTag(tag)
        cancel, forget = context.cancelJobsWithTag, context.removeJobTag
    try:
        yield tag
    except BaseException as error:
        if not _interrupted(error):
            raise
        _again_where_the_connection_broke(lambda: cancel(tag))
        if isinstance(error, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from error
    finally:
        _again_where_the_connection_broke(lambda: forget(tag))


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: pyspark's own clean-up after it may fail, which hides it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _again_where_the_connection_broke(call: Callable[[], object]) -> None:
    """Calls, and once more where that failed: py4j closes the interrupted connection and may take the next with it."""
    try:
        call()
    except Exception as error:
        if type(error).__name__ != "Py4JNetworkError":
            raise
        call()


def is_spark_error(error: BaseException) -> bool:
    """Whether this error was raised by Spark (classic or Connect) rather than by Python code."""
    try:
        from pyspark.errors import PySparkException
    except ImportError:
        return False
    # Where pyspark has no class for an error, as for most of failed jobs, classic sessions raise py4j's.
    return isinstance(error, PySparkException) or type(error).__name__ == "Py4JJavaError"


def reason(error: BaseException) -> str:
    r"""What an error of Spark says, in one line; of a failed job, what caused it.

    >>> job = "An error occurred while calling o1.sql.\n: X: Job aborted\n\tat a.b\nCaused by: Y: no Parquet\n\tat c"
    >>> reason(Exception(job)), reason(Exception("[A] one\ntwo"))
    ('Y: no Parquet', '[A] one')
    """
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
        return causes[-1] if causes else lines[1]
    return lines[0] if lines else type(error).__name__


def condition(error: BaseException) -> str:
    """Spark's name of an error, e.g. TABLE_OR_VIEW_NOT_FOUND; empty where it has none."""
    # 4.x: getCondition (getErrorClass is deprecated there); 3.5: getErrorClass.
    name = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return (name() if name is not None else None) or ""


def running_session() -> SparkSession | None:
    """The session that runs in this process, classic or Connect; None where none does. Starts nothing."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    active: SparkSession | None = SparkSession.getActiveSession()
    if active is not None:
        return active
    # getActiveSession is per thread: another thread's session is as much in the way.
    from pyspark import SparkContext

    if getattr(SparkContext, "_active_spark_context", None) is None:
        return None
    return SparkSession.builder.getOrCreate()


def jvm_command() -> Sequence[str] | None:
    """The command line by which this process started its JVM, None where it did not start one (yet)."""
    try:
        from pyspark import SparkContext
    except ImportError:
        return None
    process = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    return None if process is None else process.args


def session_of(frame: DataFrame) -> SparkSession:
    """The session a DataFrame belongs to."""
    return frame.sparkSession


def session_or_active(spark: SparkSession | None) -> SparkSession:
    """The session given, else the one that runs.

    Raises:
        StatementError: Neither.
    """
    session = spark if spark is not None else running_session()
    if session is None:
        raise StatementError("no Spark session: pass one, e.g. dovetail.explain(sql, spark).")
    return session
