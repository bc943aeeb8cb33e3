"""The only module that uses py4j, the bridge from a classic session to its JVM, for what SQL and settings cannot do.

* Launch: whether a context runs, which command started its JVM, and the settings and classes of spark-submit. `enable`
  needs this before a session exists that could run SQL.
* Jobs: tags by which jobs are cancelled, and how many of their tasks are done. A session runs one statement per thread,
  so SQL cannot ask it about the running statement.
* Interrupt: ends the JVM that pyspark was starting, which would otherwise outlive its Python process.
* `attach`: adds a jar to the class path, uses the extension points and the parser of a session, and copies a session.

A Spark Connect session has no JVM here. Callers ask `_sql.is_connect` first; there `_watch` uses Connect's own calls.
Metrics of a query need no py4j: DOVETAIL PROFILE and dovetail_explain return them as rows.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import traceback
from typing import TYPE_CHECKING, Any

from dovetail._spark_errors import is_spark_error
from dovetail.errors import PySparkMissingError, SessionRunningError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.conf import SparkConf
    from pyspark.sql import SparkSession


def has_contexts() -> bool:
    """Whether the installed pyspark can start a Spark. The package `pyspark-client` cannot."""
    try:
        from pyspark import SparkContext  # noqa: F401
    except ImportError:
        return False
    return True


def context_runs() -> bool:
    """Whether this process has a running Spark context."""
    if not has_contexts():
        return False
    from pyspark import SparkContext

    return getattr(SparkContext, "_active_spark_context", None) is not None


def session_runs() -> bool:
    """Whether this process has a running session: one of pyspark, or the default session of the JVM.

    If it has, `getOrCreate()` returns it; otherwise, `getOrCreate()` makes a session.
    """
    if not context_runs():
        return False
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    known = SparkSession._instantiatedSession
    if known is not None and not is_stopped(known):
        return True
    jvm: Any = SparkContext._jvm
    default = jvm.org.apache.spark.sql.SparkSession.getDefaultSession()
    return default.isDefined() and not default.get().sparkContext().isStopped()


def active_is_stopped() -> bool:
    """Whether the active session of this thread belongs to a stopped context, while another context runs.

    The JVM of Spark 3.5 returns such a session, and pyspark's `getActiveSession` would then keep it as the session of
    this process: the next `getOrCreate()` would return it, and its queries fail.
    """
    if not context_runs():
        return False
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    active = jvm.org.apache.spark.sql.SparkSession.getActiveSession()
    return active.isDefined() and bool(active.get().sparkContext().isStopped())


def context_value(key: str) -> str | None:
    """A setting of the running context; None if it is not set there."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    value: str | None = context.getConf().get(key)
    return value


def jvm_command() -> Sequence[str] | None:
    """The command line with which this process started its JVM; None if it has not started one."""
    try:
        from pyspark import SparkContext
    except ImportError:
        return None
    process = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    return None if process is None else process.args


def kill_launched(interrupt: KeyboardInterrupt) -> None:
    """Ends the JVM that pyspark was starting when it was interrupted; it would run forever otherwise.

    Such a JVM does not check yet whether its Python process is alive. Only a local variable of the interrupted call
    refers to its process.
    """
    for frame, _ in traceback.walk_tb(interrupt.__traceback__):
        process = frame.f_locals.get("proc")
        if frame.f_code.co_name == "launch_gateway" and isinstance(process, subprocess.Popen):
            process.kill()


def take_ctrl_c() -> None:
    """Replaces pyspark's handler of Ctrl-C: it calls the JVM over the connection that the interrupted call still uses.

    Call it after the session has started, which installs that handler.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def submitted_conf() -> SparkConf:
    """The settings of spark-submit; after the process has connected to its JVM, a new SparkConf contains them."""
    try:
        from pyspark import SparkConf, SparkContext
    except ImportError as missing:
        raise PySparkMissingError("pyspark is not installed: pip install 'dovetail-spark[spark]'.") from missing
    SparkContext._ensure_initialized()
    return SparkConf()


def jvm_has(name: str) -> bool:
    """Whether the JVM has a class; this process must be connected to it: by a context, or by `submitted_conf`."""
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    return _has_class(jvm.java.lang.Thread.currentThread().getContextClassLoader(), name)


def tag_jobs(spark: SparkSession, tag: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Tags the jobs that this thread starts from now on; returns functions to cancel them and to end the tagging.

    These are tags of the context. Tags of the session belong to the calling thread of the JVM, and after Ctrl-C another
    thread serves the calls.
    """
    context = spark.sparkContext
    context.addJobTag(tag)
    return (
        lambda: _again_where_the_connection_broke(lambda: context.cancelJobsWithTag(tag)),
        lambda: _again_where_the_connection_broke(lambda: context.removeJobTag(tag)),
    )


def stages(spark: SparkSession, tag: str) -> Iterator[tuple[int, int]]:
    """Number of tasks and of finished tasks, for every stage of the tag's jobs."""
    tracker: Any = spark.sparkContext._jsc.sc().statusTracker()
    for job in tracker.getJobIdsForTag(tag):
        info = tracker.getJobInfo(job)
        for stage in info.get().stageIds() if info.isDefined() else ():
            of = tracker.getStageInfo(stage)
            if of.isDefined():
                yield of.get().numTasks(), of.get().numCompletedTasks()


def is_stopped(spark: SparkSession) -> bool:
    """Whether the session's context is stopped."""
    return spark.sparkContext._jsc is None


def copy_of(spark: SparkSession) -> SparkSession:
    """A new session with the same context, catalogs and cached tables, and the current state of the session.

    This state consists of views, settings, functions, and the current catalog and namespace. Variables are not copied.
    As with every new session, pyspark's `RDD.toDF` makes DataFrames in this one from now on.
    """
    old = _classic(spark)
    new = old.cloneSession()
    # Spark's copy has its own manager of catalogs, which starts at the default catalog
    ours, theirs = (session.sessionState().catalogManager() for session in (old, new))
    theirs.setCurrentCatalog(ours.currentCatalog().name())
    # the namespace that a catalog starts with need not exist, and Spark refuses to set it
    if list(theirs.currentNamespace()) != list(ours.currentNamespace()):
        theirs.setCurrentNamespace(ours.currentNamespace())
    return type(spark)(spark.sparkContext, new)


def parses(spark: SparkSession, statement: str) -> bool:
    """Whether the session's parser accepts a statement; the statement is not run."""
    try:
        _classic(spark).sessionState().sqlParser().parsePlan(statement)
    except Exception as error:
        if not is_spark_error(error):
            raise
        return False
    return True


def load(spark: SparkSession, jar: str, name: str) -> None:
    """Puts a jar on the class path of driver and executors, as --jars does, unless the JVM has the named class.

    Raises:
        SessionRunningError: The JVM accepts no more jars.
    """
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if _has_class(loader, name):
        return
    if not hasattr(loader, "addURL") or "MutableURLClassLoader" not in loader.getClass().getName():
        raise SessionRunningError(
            f"this JVM accepts no more jars (its class loader is {loader.getClass().getName()}). Let the platform "
            "start the JVM with the jar that `dovetail jar-path` prints, and call attach() again; or with the options "
            "that `dovetail submit-args` prints."
        )
    spark._jsc.addJar(jar)
    loader.addURL(jvm.java.io.File(jar).toURI().toURL())


def extend(spark: SparkSession) -> None:
    """Adds Dovetail's rules and table functions to a running session. Its parser does not change."""
    jvm: Any = spark._jvm
    session = _classic(spark)
    extensions = session.extensions()
    jvm.dovetail.DovetailExtensions().apply(extensions)
    extensions.registerTableFunctions(session.sessionState().tableFunctionRegistry())


def line_of_loaded_jar(spark: SparkSession) -> str:
    """The Spark line that the Dovetail jar on the class path was built for."""
    jvm: Any = spark._jvm
    return str(jvm.org.apache.spark.sql.dovetail.BuildInfo.sparkLine())


def _classic(spark: SparkSession) -> Any:
    return spark._jsparkSession


def _has_class(loader: Any, name: str) -> bool:
    try:
        loader.loadClass(name)
    except Exception as error:
        if "ClassNotFoundException" in str(error):
            return False
        raise
    return True


def _again_where_the_connection_broke(call: Callable[[], object]) -> None:
    """Calls; repeats after a network error: py4j closes the interrupted connection, and the next call may fail too."""
    try:
        call()
    except Exception as error:
        if type(error).__name__ != "Py4JNetworkError":
            raise
        call()
