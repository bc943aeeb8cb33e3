"""The one door to py4j, the bridge from a classic session of pyspark to its JVM: for what SQL and settings cannot do.

* Launch: whether a context runs, by which command its JVM was started, and what spark-submit was given. `enable` asks
  this before there is a session that could run SQL.
* Jobs: tags by which jobs are cancelled, and how many of their tasks are done. A session runs one statement per thread,
  so that it cannot be asked by SQL about the statement that it runs.
* Interrupt: the JVM that was being started, which would outlive its Python.
* `attach`: a jar on the class path, extension points of a session, its parser, a copy of it. All of these are objects.

A Spark Connect session has none of it. Callers ask `_sql.is_connect` first; there `_watch` uses Connect's own calls.
Metrics of a query need no py4j: DOVETAIL PROFILE and dovetail_explain return them as rows.
"""

from __future__ import annotations

import subprocess
import traceback
from typing import TYPE_CHECKING, Any

from dovetail._spark_errors import is_spark_error
from dovetail.errors import PySparkMissingError, SessionRunningError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.conf import SparkConf
    from pyspark.sql import SparkSession


def context_runs() -> bool:
    """Whether this process has a context that is not stopped."""
    from pyspark import SparkContext

    return getattr(SparkContext, "_active_spark_context", None) is not None


def jvm_command() -> Sequence[str] | None:
    """The command line by which this process started its JVM, None where it did not start one (yet)."""
    try:
        from pyspark import SparkContext
    except ImportError:
        return None
    process = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    return None if process is None else process.args


def kill_launched(interrupt: KeyboardInterrupt) -> None:
    """Ends the JVM that pyspark was starting when it was interrupted, which would stay for ever.

    Such a JVM does not yet watch whether its Python is there, and only the interrupted call knows its process.
    """
    for frame, _ in traceback.walk_tb(interrupt.__traceback__):
        process = frame.f_locals.get("proc")
        if frame.f_code.co_name == "launch_gateway" and isinstance(process, subprocess.Popen):
            process.kill()


def submitted_conf() -> SparkConf:
    """What spark-submit was given: once the process is connected to its JVM, a new SparkConf holds it."""
    try:
        from pyspark import SparkConf, SparkContext
    except ImportError as missing:
        raise PySparkMissingError("pyspark is not installed: pip install 'dovetail-spark[spark]'.") from missing
    SparkContext._ensure_initialized()
    return SparkConf()


def tag_jobs(spark: SparkSession, tag: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Tags the jobs that this thread starts from now on; returns what cancels them, and what ends the tagging.

    These are the context's tags. The session's belong to the calling thread of the JVM, and after Ctrl-C that is
    another one.
    """
    context = spark.sparkContext
    context.addJobTag(tag)
    return (
        lambda: _again_where_the_connection_broke(lambda: context.cancelJobsWithTag(tag)),
        lambda: _again_where_the_connection_broke(lambda: context.removeJobTag(tag)),
    )


def stages(spark: SparkSession, tag: str) -> Iterator[tuple[int, int]]:
    """Tasks, and those that are done, of every stage of the tag's jobs."""
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
    """A session that starts now: same context, catalog and cached tables; views, settings and functions as they are."""
    return type(spark)(spark.sparkContext, _classic(spark).cloneSession())


def parses(spark: SparkSession, statement: str) -> bool:
    """Whether the session's parser knows a statement, which is not run."""
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
    """Puts Dovetail's rules and table functions into a running session. Its parser was made at its start, and stays."""
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
    """Calls, and once more where that failed: py4j closes the interrupted connection and may take the next with it."""
    try:
        call()
    except Exception as error:
        if type(error).__name__ != "Py4JNetworkError":
            raise
        call()
