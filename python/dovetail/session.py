"""`enable`: adds Dovetail's jar and extension class to a session builder.

It raises an error in four cases, checked in this order: the session is on a remote server; a session without Dovetail
already runs; a context without the jar or the class already runs; the JVM was started without the jar. Otherwise it
chooses the jar, and appends the jar and the class to the existing values. It never makes a session itself: that session
would have no options.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from dovetail import _launch, _py4j, _sql
from dovetail._error_text import kind_of
from dovetail.config import Config
from dovetail.errors import (
    JarMissingError,
    RemoteServerError,
    SessionRunningError,
    StatementError,
    UnsupportedSparkError,
)
from dovetail.jars import EXTENSION, JAR_PREFIX, jar_path, line_of, parse_line, pyspark_version

if TYPE_CHECKING:
    from collections.abc import Mapping

JARS_KEY = "spark.jars"
EXTENSIONS_KEY = "spark.sql.extensions"

# Adds a section of Dovetail to `df.explain()` and to the SQL tab, from Spark 4.0 on. If this class is configured and
# the jar is missing, Spark fails every query.
EXPLAIN_PROVIDER = "dovetail.DovetailExplain"
EXPLAIN_PROVIDERS_KEY = "spark.sql.extendedExplainProviders"

# Lets Spark accept orders at run time that need another exchange. Spark would reject such a plan.
REORDER_KEY = "spark.dovetail.adaptive.reorder"
COST_EVALUATOR = "dovetail.DovetailCostEvaluator"
COST_EVALUATOR_KEY = "spark.sql.adaptive.customCostEvaluatorClass"

# Keys that contain the jars of a submitted job; which one depends on the cluster manager and the deploy mode.
SUBMITTED_JARS_KEYS = (JARS_KEY, "spark.repl.local.jars", "spark.yarn.dist.jars", "spark.driver.extraClassPath")

# Characters that Spark does not take as a part of a path in spark.jars: separators, fragments, patterns.
_NOT_IN_LISTS = frozenset(",#[]{}*?")

Builder = TypeVar("Builder")


def enable(builder: Builder, **config: Any) -> Builder:
    """Adds Dovetail to a session builder; the next `getOrCreate()` starts a session with Dovetail.

    This appends the jar for the installed pyspark to `spark.jars`, the class `dovetail.DovetailExtensions` to
    `spark.sql.extensions` and, on Spark 4, `dovetail.DovetailExplain` to `spark.sql.extendedExplainProviders`. It keeps
    the values from the builder, PYSPARK_SUBMIT_ARGS and spark-defaults.conf. Call it last, because options that are set
    on the builder *after* this call replace these values. `dovetail.status(spark)` shows whether Dovetail is active.

    Args:
        builder: `SparkSession.builder`, with or without options; for Spark Connect a builder with
            `.remote("local[*]")`.
        **config: Settings by their `dovetail.Config` names, e.g. `min_gain=0.2`. `adaptive_reorder=True` also sets
            `spark.sql.adaptive.customCostEvaluatorClass`, unless it is set already.

    Returns:
        The same builder.

    Raises:
        StatementError: The argument is not a session builder.
        SessionRunningError: A session or a context without Dovetail, or a JVM without its jar, already runs in this
            process.
        RemoteServerError: The builder points to a remote Spark Connect server.
        UnsupportedSparkError: Dovetail has no jar for the installed pyspark.
        JarMissingError: The jar is missing from this installation, or spark.jars cannot name its path.
        ConfigError: The name or value of a setting is wrong, in `config` or in the builder's options.

    Example::

        import dovetail
        from pyspark.sql import SparkSession

        spark = dovetail.enable(SparkSession.builder.appName("report"), planning_budget_ms=200).getOrCreate()
        print(dovetail.status(spark))
    """
    options = _options(builder)
    settings = _with_cost_evaluator(options, Config.chosen(config))
    Config.check_conf(options)
    _refuse_remote(options)

    running = _sql.running_session()
    if running is not None:
        if not _sql.has_dovetail(running):
            raise SessionRunningError(_running(can_attach=not _sql.is_connect(running)))
        return _with(builder, settings)
    if _py4j.context_runs():
        # a new session of a running context takes the extensions from the settings of the context only
        named = _launch.split_list(_py4j.context_value(EXTENSIONS_KEY))
        if EXTENSION not in named or not _py4j.jvm_has(EXTENSION):
            raise SessionRunningError(_CONTEXT_WITHOUT)
        return _with(builder, settings)

    if _launch.GATEWAY_PORT in os.environ:
        return _enable_under_submit(builder, options, settings)
    jar = _jar(options)
    launched = _py4j.jvm_command()
    # a properties file may have named the jar, of which the command line shows nothing
    has_jar = launched is None or any(jar in _launch.split_list(_value_part(word)) for word in launched)
    if not has_jar and not _py4j.jvm_has(EXTENSION):
        raise SessionRunningError(_JVM_WITHOUT_JAR)

    appended = appended_conf(options, jar)
    if _launch.submit_args_value(JARS_KEY) is not None:
        _launch.replace_in_submit_args(JARS_KEY, appended[JARS_KEY])
    return _with(builder, {**appended, **_explain_section(options), **settings})


def appended_conf(options: Mapping[str, str], jar: str) -> dict[str, str]:
    """The values of `spark.jars` and `spark.sql.extensions` that Spark would use, with Dovetail's values appended.

    Args:
        options: Options of the session builder. PYSPARK_SUBMIT_ARGS and spark-defaults.conf are read, too.
        jar: Path or URL of Dovetail's jar.

    Returns:
        The two settings, by key.
    """
    return {
        JARS_KEY: _launch.append(_found(options, JARS_KEY), jar),
        EXTENSIONS_KEY: _launch.append(_found(options, EXTENSIONS_KEY), EXTENSION),
    }


def _explain_section(options: Mapping[str, str]) -> dict[str, str]:
    """Adds Dovetail to the explain providers, if this Spark version has them.

    A Connect server of this machine that already runs has neither our jar nor our extension, and a session that names
    a class which the server lacks fails in every query.
    """
    reused = options.get(_REUSE_KEY) or os.environ.get(_REUSE_VARIABLE)
    if parse_line(pyspark_version()) < (4, 0) or reused:
        return {}
    return {EXPLAIN_PROVIDERS_KEY: _launch.append(_found(options, EXPLAIN_PROVIDERS_KEY), EXPLAIN_PROVIDER)}


def _with_cost_evaluator(options: Mapping[str, str], settings: dict[str, str]) -> dict[str, str]:
    """Adds Dovetail's cost evaluator to settings that switch on orders at run time, unless there is another one."""
    if settings.get(REORDER_KEY) != "true" or _found(options, COST_EVALUATOR_KEY) is not None:
        return settings
    return {COST_EVALUATOR_KEY: COST_EVALUATOR, **settings}


def _with(builder: Builder, settings: dict[str, str]) -> Builder:
    for key, value in settings.items():
        builder.config(key, value)  # type: ignore[attr-defined]
    return builder


def _options(builder: object) -> dict[str, str]:
    """The options set on a builder so far. pyspark cannot read them publicly; all builders store them in `_options`."""
    options = getattr(builder, "_options", None)
    if not isinstance(options, dict) or not hasattr(builder, "config"):
        raise StatementError(
            f"enable() takes a session builder such as SparkSession.builder, got {kind_of(builder)}. "
            "To check a running session, call dovetail.status(spark)."
        )
    return {key: str(value) for key, value in options.items()}


def _found(options: Mapping[str, str], key: str) -> str | None:
    """The value that Spark would get without this call.

    PYSPARK_SUBMIT_ARGS comes after the builder's options on the command line, but the builder sets its own options
    again on the running context. Therefore, the entries of both are included.
    """
    value = options.get(key)
    for entry in _launch.split_list(_launch.submit_args_value(key)):
        value = _launch.append(value, entry)
    return value if value is not None else _launch.defaults_value(key)


def _jar(options: dict[str, str]) -> str:
    """The jar to append: the bundled one, unless a Dovetail jar of the right line is already listed."""
    listed = _listed_jar(options)
    if listed is not None:
        return listed
    jar = jar_path(pyspark_version())
    if not _NOT_IN_LISTS.isdisjoint(jar):
        raise JarMissingError(
            f"spark.jars cannot name {jar}: the path has one of the characters {' '.join(sorted(_NOT_IN_LISTS))}. "
            "Install Dovetail into another directory, or copy the jar to one and put its path into spark.jars."
        )
    return jar


def _listed_jar(options: dict[str, str]) -> str | None:
    """The Dovetail jar of the right line that is already listed; None if there is none."""
    version = pyspark_version()
    for entry in _launch.split_list(_found(options, JARS_KEY)):
        name = entry.rsplit("/", 1)[-1]
        if name.startswith(JAR_PREFIX) and name.endswith(".jar"):
            line = line_of(version)
            if line.refuses(name):
                raise UnsupportedSparkError(
                    f"spark.jars already contains {entry}, which does not fit the running Spark line {line.name} "
                    f"(pyspark {version}). Remove it; enable() adds the right jar."
                )
            return entry
    return None


def _refuse_remote(options: dict[str, str]) -> None:
    remote = options.get("spark.remote") or os.environ.get("SPARK_REMOTE") or _launch.submit_args_value("spark.remote")
    if remote is None or not remote.startswith("sc://"):
        return
    raise RemoteServerError(
        f"{remote} is a Spark Connect server. Its start command chooses jars and extensions, not its clients. Start it "
        f"with\n  {_sql.START_SERVER}\n{_sql.JAR_OF_SERVER} {_sql.ON_DATABRICKS} Then connect without enable(). "
        "dovetail.status(spark) shows whether Dovetail is active; every other call works as usual."
    )


def _enable_under_submit(builder: Builder, options: dict[str, str], settings: dict[str, str]) -> Builder:
    """Under spark-submit, the JVM and its class path already exist; only the extension class can still be set."""
    submitted = _py4j.submitted_conf()
    listed = _listed_jar(options)
    # No setting names a jar of the installation, of SPARK_DIST_CLASSPATH, or of a class path with a wildcard. The
    # package itself may have come without jars, in an archive for --py-files.
    if not _py4j.jvm_has(EXTENSION):
        name = (listed or _jar(options)).rsplit("/", 1)[-1]
        if not any(name in submitted.get(key, "") for key in SUBMITTED_JARS_KEYS):
            raise SessionRunningError(_SUBMITTED_WITHOUT_JAR)
    value = submitted.get(EXTENSIONS_KEY, "")
    for entry in _launch.split_list(options.get(EXTENSIONS_KEY)):
        value = _launch.append(value, entry)
    # the submitted jar may be that of Spark 3.5, which lacks this class; Spark 4 would then fail every query
    section = {}
    if _py4j.jvm_has(EXPLAIN_PROVIDER):
        section = _explain_section({**dict(submitted.getAll()), **options})
    return _with(builder, {EXTENSIONS_KEY: _launch.append(value, EXTENSION), **section, **settings})


def _value_part(word: str) -> str:
    """The value in a word of a command line: `a,b` in each of `spark.jars=a,b`, `--jars=a,b` and `a,b`."""
    return word.rpartition("=")[2]


def _running(can_attach: bool) -> str:
    """The message for a running session without Dovetail."""
    attach = " dovetail.attach(spark) adds Dovetail to the session that runs." if can_attach else ""
    return (
        "a Spark session without Dovetail already runs in this process, and Spark reads jars and extensions only at "
        "its start. In a script, call enable() before the first getOrCreate(). In a notebook, restart the kernel and "
        f"call enable() in the first cell.{attach} If the platform starts the session for you, change its "
        f"configuration: {_SUBMIT_ADVICE}. On Databricks: dovetail init-script --platform databricks."
    )


# pyspark 4.3 can connect to a server that an earlier process of this machine has started
_REUSE_KEY = "spark.local.connect.reuse"
_REUSE_VARIABLE = "SPARK_LOCAL_CONNECT_REUSE"

_SUBMIT_ADVICE = (
    "spark-submit --jars $(dovetail jar-path) --conf spark.sql.extensions=dovetail.DovetailExtensions ... "
    "(`dovetail submit-args` prints these options)"
)
_CONTEXT_WITHOUT = (
    "a SparkContext without Dovetail already runs in this process, and its sessions read jars and extensions from its "
    "configuration only. Do not make the context yourself: call enable() first, and take spark.sparkContext from the "
    "session. Or start the session without enable(), and call dovetail.attach(spark). If the platform makes the "
    f"context, change its configuration: {_SUBMIT_ADVICE}."
)
_JVM_WITHOUT_JAR = (
    "the session was stopped, but its JVM still runs in this process. It was started without Dovetail's jar, so a new "
    "session would not find the jar. Restart Python (in a notebook: the kernel) and call enable() before the first "
    "getOrCreate()."
)
_SUBMITTED_WITHOUT_JAR = (
    "spark-submit started the JVM of this job before this script, without the Dovetail jar on its class path. Submit "
    f"the job with the jar: {_SUBMIT_ADVICE}."
)
