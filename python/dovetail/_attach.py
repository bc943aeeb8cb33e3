"""`attach`: adds Dovetail to a running classic session, for example one that a notebook platform has started.

Spark reads `spark.jars` and `spark.sql.extensions` once, when a session starts. But a session keeps the object in which
extensions register their rules and strategies, and reads it whenever it plans a query, so rules that are added later
apply. Table functions work after they are registered by hand. The parser is created at the start, so Dovetail's
statements need a session that starts later; a copy of the running session is one.

There is no SQL for this; _py4j.py does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail import _py4j, _sql
from dovetail.config import Config
from dovetail.errors import RemoteServerError, StatementError, UnsupportedSparkError
from dovetail.jars import EXTENSION, jar_path, line_of
from dovetail.probe import Status, status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Features that `attach` adds to a running session, and features that need a new session, as `Attachment` lists them.
HERE = (
    "join orders and broadcasts of every query that is planned from now on",
    "the SQL functions dovetail_explain, dovetail_estimate, dovetail_advise, dovetail_stats, dovetail_queries, ...",
    "dovetail.explain, advise, stats, queries, history, status, pins.all, rows.all; settings (SET spark.dovetail...)",
)
NEW_SESSION = (
    f"statements (DOVETAIL ANALYZE, DOVETAIL PIN, ...), and with them {_sql.NEED_STATEMENTS}",
    "the hint DOVETAIL_ORDER, and hints of DataFrames (df.hint)",
    "other orders of joins at run time (spark.dovetail.adaptive.reorder)",
)


@dataclass(frozen=True)
class Attachment:
    """The result of `attach`. `print` shows which features the running session has.

    Attributes:
        status: Dovetail's version and state in the session.
        here: Features that work in the running session.
        needs_new_session: Features that work only in `session`.
        session: A copy of the running session with all features of Dovetail. It has the same context, catalogs and
            cached tables, and the current catalog, namespace, temporary views, settings and registered functions. It
            does not have the session variables (DECLARE VARIABLE). The first access makes the copy; from then on,
            `RDD.toDF` makes DataFrames in the copy, as pyspark does for every new session. If the running session has
            all features, this is the running session.
    """

    status: Status
    here: tuple[str, ...]
    needs_new_session: tuple[str, ...]
    _running: SparkSession = field(repr=False)

    @cached_property
    def session(self) -> SparkSession:
        return _py4j.copy_of(self._running) if self.needs_new_session else self._running

    def __str__(self) -> str:
        lines = [str(self.status), "in this session:", *(f"  {part}" for part in self.here)]
        if self.needs_new_session:
            lines += ["in a new session only (spark = dovetail.attach(spark).session, a copy without variables):"]
            lines += [f"  {part}" for part in self.needs_new_session]
        return "\n".join(lines)


def attach(spark: SparkSession, jar: str | Path | None = None, **config: Any) -> Attachment:
    """Adds Dovetail to a classic session that is already running.

    Prefer `enable` if you start the session yourself. `attach` is for sessions that a platform has started. It adds
    what the running session accepts, and reports which features need a new session; `.session` is such a session, a
    copy of the running one that is made when you ask for it. Call `attach` again whenever the platform starts a
    session.

    Args:
        spark: A classic session, with Dovetail or without.
        jar: The jar; default: the bundled jar for the session's Spark. Ignored if the JVM has loaded one already.
        **config: Settings by their `dovetail.Config` names, e.g. `min_gain=0.2`.

    Raises:
        RemoteServerError: This is a Spark Connect session, whose server must be started with Dovetail.
        StatementError: This is not a session, or `jar` is not a file.
        SessionStoppedError: The session is stopped.
        SessionRunningError: The JVM of the session accepts no more jars.
        UnsupportedSparkError: There is no jar for this Spark, or the jar is for another line.
        JarMissingError: The jar is missing.
        ConfigError: A setting's name or value is wrong.

    Example::

        attached = dovetail.attach(spark)
        print(attached)
        spark = attached.session  # for dovetail.analyze and dovetail.compare
    """
    settings = Config.chosen(config)
    _check(spark)
    before = _sql.has_dovetail(spark)
    if not before:
        _hook_in(spark, _jar(spark, jar))
    for key, value in settings.items():
        _sql.put(spark, key, value)
    whole = before and _py4j.parses(spark, "DOVETAIL PROFILE SELECT 1")
    here, elsewhere = ((*HERE, *NEW_SESSION), ()) if whole else (HERE, NEW_SESSION)
    return Attachment(status(spark), here, elsewhere, spark)


def _check(spark: object) -> None:
    if not hasattr(spark, "sql") or not hasattr(spark, "conf"):
        raise StatementError(f"attach takes a running Spark session, got {type(spark).__name__}.")
    if _sql.is_connect(spark):  # type: ignore[arg-type]
        raise RemoteServerError(
            "this is a Spark Connect session. The start command of the server chooses jars and extensions, not its "
            f"clients: {_sql.START_SERVER}. {_sql.JAR_OF_SERVER} {_sql.ON_DATABRICKS} Then dovetail.status(spark) "
            "shows that it is on."
        )
    _sql.require_running(spark)  # type: ignore[arg-type]


def _jar(spark: SparkSession, jar: str | Path | None) -> str:
    """The jar to add: the given one, if it is a file and its name fits the session's Spark line."""
    if jar is None:
        return jar_path(spark.version)
    if not Path(jar).is_file():
        raise StatementError(
            f"jar={str(jar)!r} is not a file. dovetail.jar_path('{spark.version}') is the bundled one."
        )
    name, line = Path(jar).name, line_of(spark.version)
    if line.refuses(name):
        raise UnsupportedSparkError(
            f"{name} is not for the running Spark line {line.name} (Spark {spark.version}). Leave jar out, or pass "
            f"dovetail.jar_path('{spark.version}')."
        )
    return str(Path(jar).resolve())


def _hook_in(spark: SparkSession, jar: str) -> None:
    _py4j.load(spark, jar, EXTENSION)
    _py4j.extend(spark)
    if not _sql.has_dovetail(spark):
        raise UnsupportedSparkError(
            f"the JVM has a Dovetail jar for Spark {_py4j.line_of_loaded_jar(spark)} on its class path, and this is "
            f"Spark {spark.version}: it has switched itself off. Start the session without it, or with the jar that "
            f"`dovetail jar-path --spark-version {spark.version}` prints."
        )
