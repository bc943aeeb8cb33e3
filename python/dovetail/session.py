"""`enable`: puts Dovetail's jar and extension class into a session builder.

It decides in this order: is the session elsewhere (refuse), does one run already (refuse, unless it has Dovetail), was
the JVM started without the jar (refuse); else which jar, and where its path and the class have to be appended so that
nothing that was there is lost.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from dovetail import _launch, _py4j, _sql
from dovetail.config import Config
from dovetail.errors import RemoteServerError, SessionRunningError, UnsupportedSparkError
from dovetail.jars import jar_path, line_of, parse_line, pyspark_version

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTENSION = "dovetail.DovetailExtensions"
JARS_KEY = "spark.jars"
EXTENSIONS_KEY = "spark.sql.extensions"

# Gives `df.explain()` and the SQL tab a section of Dovetail's, from Spark 4.0 on; Spark fails to explain where it is
# named and the jar is not there.
EXPLAIN_PROVIDER = "dovetail.DovetailExplain"
EXPLAIN_PROVIDERS_KEY = "spark.sql.extendedExplainProviders"

# Where the jars of a submitted job end up, by cluster manager and deploy mode.
SUBMITTED_JARS_KEYS = (JARS_KEY, "spark.repl.local.jars", "spark.yarn.dist.jars", "spark.driver.extraClassPath")

Builder = TypeVar("Builder")


def enable(builder: Builder, **config: Any) -> Builder:
    """Adds Dovetail to a session builder; the next `getOrCreate()` starts a session that has it.

    The jar bundled for the installed pyspark is appended to `spark.jars`, the class `dovetail.DovetailExtensions` to
    `spark.sql.extensions`, behind what the builder, PYSPARK_SUBMIT_ARGS and spark-defaults.conf have there. Options set
    on the builder *after* this call replace ours, as Spark has it: call it last. `dovetail.status(spark)` proves that
    it is on.

    Args:
        builder: `SparkSession.builder`, with or without options; for Spark Connect one with `.remote("local[*]")`.
        **config: Settings by their `dovetail.Config` names, e.g. `card_weight=0.5`. Only those given here are set.

    Returns:
        The same builder.

    Raises:
        SessionRunningError: A session without Dovetail, or a JVM without its jar, runs in this process already.
        RemoteServerError: The builder points to a Spark Connect server elsewhere.
        UnsupportedSparkError: There is no jar for the installed pyspark.
        JarMissingError: The jar is missing from this installation.
        ConfigError: A setting's name or value is wrong, here or among the builder's options.

    Example::

        import dovetail
        from pyspark.sql import SparkSession

        spark = dovetail.enable(SparkSession.builder.appName("report"), planning_budget_ms=200).getOrCreate()
        print(dovetail.status(spark))
    """
    settings = Config.chosen(config)
    options = _options(builder)
    Config.check_conf(options)
    _refuse_remote(options)

    running = _sql.running_session()
    if running is not None:
        if not _sql.has_dovetail(running):
            raise SessionRunningError(_RUNNING)
        return _with(builder, settings)

    jar = _jar(options)
    if _launch.GATEWAY_PORT in os.environ:
        return _enable_under_submit(builder, options, jar, settings)
    launched = _py4j.jvm_command()
    if launched is not None and not any(jar in _launch.split_list(_value_part(word)) for word in launched):
        raise SessionRunningError(_JVM_WITHOUT_JAR)

    appended = appended_conf(options, jar)
    if _launch.submit_args_value(JARS_KEY) is not None:
        _launch.replace_in_submit_args(JARS_KEY, appended[JARS_KEY])
    return _with(builder, {**appended, **_explain_section(options), **settings})


def appended_conf(options: Mapping[str, str], jar: str) -> dict[str, str]:
    """`spark.jars` and `spark.sql.extensions` as they would reach Spark without us, with ours at the end."""
    return {
        JARS_KEY: _launch.append(_found(options, JARS_KEY), jar),
        EXTENSIONS_KEY: _launch.append(_found(options, EXTENSIONS_KEY), EXTENSION),
    }


def _explain_section(options: Mapping[str, str]) -> dict[str, str]:
    """Our name among the explain providers, where this Spark knows such."""
    if parse_line(pyspark_version()) < (4, 0):
        return {}
    return {EXPLAIN_PROVIDERS_KEY: _launch.append(_found(options, EXPLAIN_PROVIDERS_KEY), EXPLAIN_PROVIDER)}


def _with(builder: Builder, settings: dict[str, str]) -> Builder:
    for key, value in settings.items():
        builder.config(key, value)  # type: ignore[attr-defined]
    return builder


def _options(builder: object) -> dict[str, str]:
    """The options set on a builder so far: pyspark has no public way to read them; all its builders keep them alike."""
    options = getattr(builder, "_options", None)
    if not isinstance(options, dict) or not hasattr(builder, "config"):
        raise TypeError(
            f"enable() takes a session builder such as SparkSession.builder, got {type(builder).__name__}. "
            "For a session that runs already see dovetail.status(spark)."
        )
    return {key: str(value) for key, value in options.items()}


def _found(options: Mapping[str, str], key: str) -> str | None:
    """The value that would reach Spark without us.

    PYSPARK_SUBMIT_ARGS comes after the builder's options on the command line, but the builder sets its own once more
    on the running context: the entries of both count.
    """
    value = options.get(key)
    for entry in _launch.split_list(_launch.submit_args_value(key)):
        value = _launch.append(value, entry)
    return value if value is not None else _launch.defaults_value(key)


def _jar(options: dict[str, str]) -> str:
    """The jar to append: ours, unless a Dovetail jar of the right line is named already."""
    version = pyspark_version()
    for entry in _launch.split_list(_found(options, JARS_KEY)):
        name = entry.rsplit("/", 1)[-1]
        if name.startswith("dovetail-spark-") and name.endswith(".jar"):
            line = line_of(version)
            if not name.startswith(f"dovetail-spark-{line.name}_"):
                raise UnsupportedSparkError(
                    f"spark.jars has {entry} already, which is not for the running Spark line {line.name} (pyspark "
                    f"{version}). Take it out; enable() adds the right one by itself."
                )
            return entry
    return jar_path(version)


def _refuse_remote(options: dict[str, str]) -> None:
    remote = options.get("spark.remote") or os.environ.get("SPARK_REMOTE") or _launch.submit_args_value("spark.remote")
    if remote is None or not remote.startswith("sc://"):
        return
    raise RemoteServerError(
        f"{remote} is a Spark Connect server: its jars and extensions are chosen where it is started, not by its "
        "clients. Start it with\n"
        "  start-connect-server.sh --jars <path of the jar> --conf spark.sql.extensions=dovetail.DovetailExtensions\n"
        "where `dovetail jar-path --spark-version <version of the server>` prints the path of the jar to copy there. "
        "Then connect without enable(): dovetail.status(spark) shows whether it is on, and every other call works as "
        "usual."
    )


def _enable_under_submit(builder: Builder, options: dict[str, str], jar: str, settings: dict[str, str]) -> Builder:
    """Under spark-submit the JVM and its class path are there already; only the extension class can still be named."""
    submitted = _py4j.submitted_conf()
    name = jar.rsplit("/", 1)[-1]
    if not any(name in submitted.get(key, "") for key in SUBMITTED_JARS_KEYS):
        raise SessionRunningError(_SUBMITTED_WITHOUT_JAR)
    value = submitted.get(EXTENSIONS_KEY, "")
    for entry in _launch.split_list(options.get(EXTENSIONS_KEY)):
        value = _launch.append(value, entry)
    section = _explain_section({**dict(submitted.getAll()), **options})
    return _with(builder, {EXTENSIONS_KEY: _launch.append(value, EXTENSION), **section, **settings})


def _value_part(word: str) -> str:
    """The value of a word of a command line: `spark.jars=a,b` and `--jars=a,b` give `a,b`, `a,b` itself."""
    return word.rpartition("=")[2]


_SUBMIT_ADVICE = (
    "spark-submit --jars $(dovetail jar-path) --conf spark.sql.extensions=dovetail.DovetailExtensions ... "
    "(`dovetail submit-args` prints these words)"
)
_RUNNING = (
    "a Spark session without Dovetail runs in this process already, and Spark reads jars and extensions only when it "
    "starts. In a script call enable() before the first getOrCreate(). In a notebook restart the kernel and call "
    "enable() in the first cell. Where the platform starts the session for you (Databricks, a shared cluster), set its "
    f"configuration: {_SUBMIT_ADVICE}."
)
_JVM_WITHOUT_JAR = (
    "the session was stopped, but its JVM still runs in this process, and it was started without Dovetail's jar: a new "
    "session would not find it. Restart Python (in a notebook: the kernel) and call enable() before the first "
    "getOrCreate()."
)
_SUBMITTED_WITHOUT_JAR = (
    "this job was started by spark-submit, whose JVM is older than this script and has no Dovetail jar on its class "
    f"path. Submit it with the jar: {_SUBMIT_ADVICE}."
)
