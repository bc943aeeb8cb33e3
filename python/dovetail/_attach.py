"""`attach`: Dovetail in a classic session that runs already, such as a notebook's whose platform has started it.

Spark reads `spark.jars` and `spark.sql.extensions` once, when a session starts. Yet a session keeps the object into
which extensions put their parts, and asks it for rules and strategies again whenever it plans a query: what is put in
later is found too. So do the table functions, once they are registered by hand. Only the parser was made at the start:
statements of Dovetail's own need a session that starts later, and every copy of this one is such a session.

There is no SQL for this: _py4j.py does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail import _py4j, _sql
from dovetail.config import Config
from dovetail.errors import RemoteServerError, SessionRunningError, StatementError, UnsupportedSparkError
from dovetail.jars import jar_path, line_of
from dovetail.probe import Status, status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTENSION_CLASS = "dovetail.DovetailExtensions"

# What a session has that was running before, and what it has not: the words of `Attached`.
HERE = (
    "join orders and broadcasts of every query that is planned from now on",
    "the SQL functions dovetail_explain, dovetail_estimate, dovetail_advise, dovetail_stats, dovetail_queries, ...",
    "dovetail.explain, advise, stats, status; settings (SET spark.dovetail...)",
)
NEW_SESSION = (
    "statements (DOVETAIL ANALYZE, DOVETAIL PROFILE), and with them dovetail.analyze and dovetail.compare",
    "the hint DOVETAIL_ORDER",
    "other orders of broadcast joins at run time (spark.dovetail.adaptive.reorder)",
)


@dataclass(frozen=True)
class Attached:
    """What `attach` brought to a running session. `print` says it.

    Attributes:
        status: Dovetail's version and state in the session.
        here: What the session that was running has now.
        needs_new_session: What it has not: these parts work in `session`.
        session: A copy of the session with all of Dovetail: same context, catalog and cached tables; temporary views,
            settings and registered functions as they are now.
    """

    status: Status
    here: tuple[str, ...]
    needs_new_session: tuple[str, ...]
    session: SparkSession

    def __str__(self) -> str:
        lines = [str(self.status), "in this session:", *(f"  {part}" for part in self.here)]
        if self.needs_new_session:
            lines += ["in a new session only (spark = dovetail.attach(spark).session):"]
            lines += [f"  {part}" for part in self.needs_new_session]
        return "\n".join(lines)


def attach(spark: SparkSession, jar: str | Path | None = None, **config: Any) -> Attached:
    """Brings Dovetail to a classic session that runs already.

    Prefer `enable` where you start the session yourself. Here a platform has started it: what can be added to it is
    added, and what needs a new session is said; `.session` is one, a copy of this one. What is attached ends with the
    session: the next one that the platform starts knows nothing of it.

    Args:
        spark: A classic session, with Dovetail or without.
        jar: The jar; by default the one bundled for the session's Spark. Not used where the JVM has one already.
        **config: Settings by their `dovetail.Config` names, e.g. `card_weight=0.5`.

    Raises:
        RemoteServerError: A Spark Connect session: its server has to be started with Dovetail.
        SessionRunningError: The session is stopped, or its JVM takes no more jars.
        UnsupportedSparkError: There is no jar for this Spark, or the jar is for another line.
        JarMissingError: The jar is missing.
        ConfigError: A setting's name or value is wrong.

    Example::

        attached = dovetail.attach(spark)
        print(attached)
        spark = attached.session  # where dovetail.analyze and dovetail.compare are wanted too
    """
    settings = Config.chosen(config)
    _check(spark)
    before = _sql.has_dovetail(spark)
    if not before:
        _hook_in(spark, _jar(spark, jar))
    for key, value in settings.items():
        _sql.put(spark, key, value)
    whole = before and _py4j.parses(spark, "DOVETAIL PROFILE SELECT 1")
    found = spark if whole else _py4j.copy_of(spark)
    here, elsewhere = ((*HERE, *NEW_SESSION), ()) if whole else (HERE, NEW_SESSION)
    return Attached(status(spark), here, elsewhere, found)


def _check(spark: object) -> None:
    if not hasattr(spark, "sql") or not hasattr(spark, "conf"):
        raise StatementError(f"attach takes a running Spark session, got {type(spark).__name__}.")
    if _sql.is_connect(spark):  # type: ignore[arg-type]
        raise RemoteServerError(
            "this is a Spark Connect session: jars and extensions are chosen where its server is started, not by its "
            "clients. Start the server with the words that `dovetail submit-args` prints; dovetail.status(spark) then "
            "shows that it is on."
        )
    if _py4j.is_stopped(spark):  # type: ignore[arg-type]
        raise SessionRunningError(
            "the session is stopped. Start one with dovetail.enable(SparkSession.builder).getOrCreate()."
        )


def _jar(spark: SparkSession, jar: str | Path | None) -> str:
    """The jar to add: the one that was named, if it is a file and its name is of the session's Spark line."""
    if jar is None:
        return jar_path(spark.version)
    if not Path(jar).is_file():
        raise StatementError(f"jar={str(jar)!r} is no file. dovetail.jar_path('{spark.version}') is the bundled one.")
    name, line = Path(jar).name, line_of(spark.version).name
    if name.startswith("dovetail-spark-") and not name.startswith(f"dovetail-spark-{line}_"):
        raise UnsupportedSparkError(
            f"{name} is not for the running Spark line {line} (Spark {spark.version}). Leave jar out, or pass "
            f"dovetail.jar_path('{spark.version}')."
        )
    return str(Path(jar).resolve())


def _hook_in(spark: SparkSession, jar: str) -> None:
    _py4j.load(spark, jar, _EXTENSION_CLASS)
    _py4j.extend(spark)
    if not _sql.has_dovetail(spark):
        raise UnsupportedSparkError(
            f"the JVM has a Dovetail jar for Spark {_py4j.line_of_loaded_jar(spark)} on its class path, and this is "
            f"Spark {spark.version}: it has switched itself off. Start the session without it, or with the jar that "
            f"`dovetail jar-path --spark-version {spark.version}` prints."
        )
