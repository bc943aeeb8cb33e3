"""The session of a command: its options, its start without Spark's log, and its views."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

import dovetail
from dovetail import _launch, _py4j, _spark_errors, _sql
from dovetail._analyze_target import FILE_FORMATS
from dovetail._identifiers import parse_name
from dovetail.cli import errors, views
from dovetail.cli.words import Parser, Words, WrongWordsError
from dovetail.config import Config
from dovetail.errors import ConfigError, DovetailError, PySparkMissingError, TargetNotFoundError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A command prints only its result: no log, no progress bar, no user interface.
_ALONE = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}
_QUIET = {"spark.log.level": "OFF"}

# Where the session of a command runs if no setting says so: on this machine, with all cores.
_MASTER_KEY = "spark.master"
_MASTER = "local[*]"

# "hive", or "in-memory" for an empty catalog.
_CATALOG_KEY = "spark.sql.catalogImplementation"

# A command starts its own session, with an empty catalog. A user who names a table may not expect this.
_EMPTY_CATALOG = (
    " This command starts a session with an empty catalog. Name files with --view NAME=PATH, use the tables of a Hive "
    f"metastore with --conf {_CATALOG_KEY}=hive, or those of a server with --remote."
)

# Time limit for connecting. A server on the same continent answers within a second; Spark's own client retries for ten
# minutes.
_SERVER_SECONDS = 10.0
_SERVER_PORT = 15002

_STDOUT, _STDERR = 1, 2


def add_session(command: Parser, views: bool = True, remote: bool = True) -> None:
    """Adds the options of a session."""
    options = command.add_argument_group("session")
    if views:
        options.add_argument(
            "--view",
            action="append",
            default=[],
            metavar="NAME=PATH",
            help="view over a file or folder (.parquet, .orc, .json, .csv); PATH alone is a folder of tables, "
            "with a view for each; repeatable",
        )
    if remote:
        options.add_argument("--remote", type=_server, metavar="URL", help="Spark Connect server, sc://host:15002")
    options.add_argument(
        "--master", help=f"master of the session (default: {_MASTER_KEY} of spark-defaults.conf, or else {_MASTER})"
    )
    options.add_argument(
        "--conf",
        type=_setting,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="Spark setting; repeatable",
    )
    options.add_argument("-v", "--verbose", action="store_true", help="show what Spark logs")


def _server(word: str) -> str:
    """Checks a server's address. For `local` and `local[...]`, pyspark starts its own server."""
    if word == "local" or word.startswith("local["):
        return word
    try:
        server = urlsplit(word)
        # reading `port` raises ValueError if it is not a number
        known = server.scheme == "sc" and bool(server.hostname) and server.port != 0
    except ValueError:
        known = False
    if not known:
        raise argparse.ArgumentTypeError(
            f"{word!r} is not the address of a Spark Connect server, such as sc://host:15002"
        )
    return word


def _setting(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    if not (key and value):
        raise argparse.ArgumentTypeError(f"{word!r} is not KEY=VALUE, such as spark.sql.shuffle.partitions=8")
    return key, value


@contextmanager
def session(given: Words) -> Iterator[SparkSession]:
    """Starts the session that the options describe, with its views, and stops it at the end."""
    wanted = views.wanted(getattr(given, "view", ()))
    spark = _started(getattr(given, "remote", None), given.master, dict(given.conf), given.verbose)
    _py4j.take_ctrl_c()
    try:
        for view in wanted:
            views.create(spark, view)
        yield spark
    except Exception as error:
        if _names_unknown_table(error, given) and _starts_empty(spark, given):
            raise DovetailError(errors.text(error) + _EMPTY_CATALOG) from error
        raise
    finally:
        # a JVM that has ended cannot be stopped; the error of the command says why
        with suppress(ConnectionError):
            spark.stop()


def _names_unknown_table(error: Exception, given: Words) -> bool:
    """Whether an error says that there is no such table, and not that there are no files at a path."""
    if isinstance(error, TargetNotFoundError):
        name = given.target if "target" in given else given.table
        return "/" not in name and parse_name(name)[0].lower() not in FILE_FORMATS
    return _spark_errors.is_spark_error(error) and _spark_errors.condition(error) == "TABLE_OR_VIEW_NOT_FOUND"


def _starts_empty(spark: SparkSession, given: Words) -> bool:
    """Whether the session had no tables when it started."""
    return not is_elsewhere(getattr(given, "remote", None)) and _sql.setting(spark, _CATALOG_KEY) != "hive"


def is_elsewhere(remote: str | None) -> bool:
    """Whether the session is on a server that this process does not start."""
    return remote is not None and remote.startswith("sc://")


def _started(remote: str | None, master: str | None, conf: dict[str, str], verbose: bool) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise PySparkMissingError("pyspark is not installed: pip install 'dovetail-spark[spark]'.") from missing
    try:
        Config.check_conf(conf)
    except ConfigError as error:
        raise WrongWordsError(f"argument --conf: {error}") from error
    builder = SparkSession.builder.appName("dovetail")
    if remote is None:
        builder.master(master or _launch.configured().get(_MASTER_KEY, _MASTER))
        conf = {**_ALONE, **({} if verbose else _QUIET), **conf}
    else:
        _reach(remote)
        builder.remote(remote)
    for key, value in conf.items():
        builder.config(key, value)
    # A remote server must have the jar already. If it does not, the first call says what to do there.
    with _output_of_the_jvm(verbose) as log:
        try:
            return (builder if is_elsewhere(remote) else dovetail.enable(builder)).getOrCreate()
        except KeyboardInterrupt as interrupt:
            _py4j.kill_launched(interrupt)
            raise
        except Exception as error:
            if isinstance(error, ImportError) and remote is not None:
                says = _spark_errors.reason(error).rstrip(".")
                raise DovetailError(f"--remote needs more packages: pip install 'pyspark[connect]'. {says}.") from error
            if _spark_errors.condition(error) != "JAVA_GATEWAY_EXITED":
                raise
            raise DovetailError(
                f"Spark did not start: {cause(log())}. Check --master and --conf; -v shows what Spark logs; `dovetail "
                "doctor` checks the installation."
            ) from error


@contextmanager
def _output_of_the_jvm(verbose: bool) -> Iterator[Callable[[], str]]:
    """Sends the output of the JVM that starts in the body to stderr or, unless `verbose`, nowhere.

    The JVM keeps the streams that it was started with, so this process replaces its own streams while the JVM starts.
    Yields a function that returns what was written.
    """
    with tempfile.TemporaryFile() as log, _exchanged(None if verbose else log):

        def written() -> str:
            log.seek(0)
            return log.read().decode("utf-8", "replace")

        yield written


@contextmanager
def _exchanged(log: IO[bytes] | None) -> Iterator[None]:
    kept = {stream: os.dup(stream) for stream in (_STDOUT, _STDERR)}
    try:
        for stream in kept:
            os.dup2(_STDERR if log is None else log.fileno(), stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, old in kept.items():
            os.dup2(old, stream)
            os.close(old)


def cause(log: str) -> str:
    r"""The line of a JVM's output that says why it did not start.

    >>> cause("WARNING: x\nException in thread \"main\" a.B: no master 'x'\n\tat a.b(C.java:1)\n26/01/01 INFO bye")
    "a.B: no master 'x'"
    >>> cause("JAVA_HOME is not set"), cause("")
    ('JAVA_HOME is not set', 'it printed nothing')
    """
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith("\t")]
    for line in reversed(lines):
        for mark in ("Caused by: ", 'Exception in thread "main" ', "Error: "):
            if line.startswith(mark):
                return line.removeprefix(mark).rstrip(".")
    return lines[-1].rstrip(".") if lines else "it printed nothing"


def _reach(remote: str) -> None:
    """Raises an error if the server does not answer. Behind a proxy, only Spark's client can find out."""
    server = urlsplit(remote)
    if server.scheme != "sc" or server.hostname is None or getproxies():
        return
    address = (server.hostname, server.port or _SERVER_PORT)
    try:
        socket.create_connection(address, _SERVER_SECONDS).close()
    except OSError as error:
        raise DovetailError(
            f"no Spark Connect server answers at {remote}: {error.strerror or error}. Check the address, and that the "
            "server runs; start-connect-server.sh of the Spark distribution starts one."
        ) from error
