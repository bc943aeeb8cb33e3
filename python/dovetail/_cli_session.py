"""Commands that need a session: `dovetail explain | analyze | compare | calibrate`.

Each starts one, or connects to a server.
"""

from __future__ import annotations

import json
import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit
from urllib.request import getproxies

import typer

import dovetail
from dovetail import _spark_errors, _sql
from dovetail._identifiers import quote
from dovetail.calibration import FEWEST_ROWS
from dovetail.errors import DovetailError, PySparkMissingError, StatementError
from dovetail.explanation import checked_format, format_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a file's name ends in, and the format that Spark reads it with; directories are taken for Parquet.
_FORMATS = {".parquet": "parquet", ".orc": "orc", ".json": "json", ".csv": "csv"}

# A command's output is the answer alone: no log (errors are told once, below), no progress bar, no user interface.
_QUIET = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}

# pyspark 4 writes every error of a query to stderr through this logger, before it raises it.
_QUERY_ERRORS = "SQLQueryContextLogger"

_NOT_STARTED = " The cause is above. Check --master and --conf; `dovetail doctor` checks the installation."

# A server on the same continent answers within a second; Spark's own client goes on trying for ten minutes.
_SERVER_SECONDS = 10.0
_SERVER_PORT = 15002

# A session of its own starts with an empty catalog, which is not what somebody expects who names a table.
_NO_TABLE = (
    " This command starts a session with an empty catalog. Name files with --view NAME=PATH, use the tables of a Hive "
    "metastore with --conf spark.sql.catalogImplementation=hive, or those of a server with --remote."
)

# What to do about an error of Spark's, by its name.
_HINTS = {"TABLE_OR_VIEW_NOT_FOUND": _NO_TABLE, "JAVA_GATEWAY_EXITED": _NOT_STARTED}

Remote = Annotated[str | None, typer.Option(help="Spark Connect server, sc://host:15002, instead of a local session.")]
Master = Annotated[str, typer.Option(help="Master of the local session.")]
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Spark setting; repeatable.")]
View = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=PATH", help="View over files (.parquet, .orc, .json, .csv); repeatable."),
]
Query = Annotated[
    str | None, typer.Argument(metavar="SQL", help="The query in quotes; '-' reads standard input. Or use --file.")
]
File = Annotated[Path | None, typer.Option("--file", "-f", help="File with the query.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(explain)
    app.command()(analyze)
    app.command()(compare)
    app.command()(calibrate)


def explain(
    sql: Query = None,
    file: File = None,
    format: Annotated[
        str | None, typer.Option(help="text, html, json or mermaid; default: the suffix of --output, else text.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of printing.")] = None,
    actual: Annotated[
        bool, typer.Option("--actual", help="Also run the query, and show the actual rows of each join.")
    ] = False,
    view: View = None,
    remote: Remote = None,
    master: Master = "local[*]",
    conf: Conf = None,
) -> None:
    """Show the join order of a query, and why. The query is planned; it runs only with --actual."""
    with _reported():
        query = _query(sql, file)
        chosen = checked_format(format) if format else "text" if output is None else format_of(output)
        if output is not None and not output.parent.is_dir():
            raise StatementError(f"--output {output} cannot be written: the directory {output.parent} does not exist.")
        with _session(remote, master, conf, view) as spark:
            found = dovetail.explain(query, spark, actual=actual)
        if output is not None:
            found.save(output, chosen)
            typer.echo(f"wrote {output}", err=True)
        else:
            typer.echo(found.render(chosen))


def analyze(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Table (db.t), files (parquet.`/data/t`), view, or database.")
    ],
    columns: Annotated[str | None, typer.Option(help="Columns, e.g. item_id,price; default: all.")] = None,
    mode: Annotated[
        str, typer.Option(help="dovetail: one pass, stored per file; spark: Spark's ANALYZE TABLE.")
    ] = "dovetail",
    as_json: AsJson = False,
    view: View = None,
    remote: Remote = None,
    master: Master = "local[*]",
    conf: Conf = None,
) -> None:
    """Collect statistics of a table, files or a database, and print them."""
    wanted = [name.strip() for name in columns.split(",") if name.strip()] if columns else None
    with _reported(), _session(remote, master, conf, view) as spark:
        found = dovetail.analyze(spark, target, wanted, mode=mode, progress=sys.stderr.isatty())
        typer.echo(json.dumps(found.to_dict()) if as_json else str(found))


def compare(
    sql: Query = None,
    file: File = None,
    repeat: Annotated[int, typer.Option(min=1, help="Measured runs each way; the medians are compared.")] = 1,
    warmup: Annotated[bool, typer.Option(help="Run once each way before measuring.")] = True,
    as_json: AsJson = False,
    view: View = None,
    remote: Remote = None,
    master: Master = "local[*]",
    conf: Conf = None,
) -> None:
    """Run a query without and with Dovetail; compare answers, times and rows. Exit code 1 if the answers differ."""
    with _reported():
        query = _query(sql, file)
        with _session(remote, master, conf, view) as spark:
            found = dovetail.compare(spark, query, warmup=warmup, repeat=repeat)
    typer.echo(json.dumps(found.to_dict()) if as_json else str(found))
    if not found.same_answer:
        raise typer.Exit(1)


def calibrate(
    rows: Annotated[
        int | None, typer.Option(min=FEWEST_ROWS, help="Rows of the larger inputs; default: 2000000.")
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Restore the built-in constants.")] = False,
    as_json: AsJson = False,
    remote: Remote = None,
    master: Master = "local[*]",
    conf: Conf = None,
) -> None:
    """Measure the constants of the cost model on this cluster, and store them with the statistics. Optional."""
    with _reported(), _session(remote, master, conf, None) as spark:
        found = dovetail.calibrate(spark, rows, reset)
        typer.echo(json.dumps(found.to_dict()) if as_json else str(found))


@contextmanager
def _reported() -> Iterator[None]:
    """What goes wrong in the body of a `with` ends the command with one line."""
    try:
        yield
    except DovetailError as error:
        typer.echo(f"dovetail: {error}", err=True)
        raise typer.Exit(1) from error
    except OSError as error:
        typer.echo(f"dovetail: {error.filename or ''}: {error.strerror or error}", err=True)
        raise typer.Exit(1) from error
    except Exception as error:
        if not _spark_errors.is_spark_error(error):
            raise
        condition = _spark_errors.condition(error)
        # without a name of Spark's it is an error of Dovetail's own, in the JVM
        says = "Spark says: " if condition else ""
        typer.echo(f"dovetail: {says}{_spark_errors.reason(error)}{_HINTS.get(condition, '')}", err=True)
        raise typer.Exit(1) from error


@contextmanager
def _session(
    remote: str | None, master: str, conf: list[str] | None, views: list[str] | None
) -> Iterator[SparkSession]:
    logging.getLogger(_QUERY_ERRORS).disabled = True
    files = _pairs(views, "--view", "sales=/data/sales.parquet")
    spark = _start(remote, master, _pairs(conf, "--conf", "spark.sql.shuffle.partitions=8"))
    try:
        for name, path in files.items():
            _add_view(spark, name, path)
        yield spark
    finally:
        spark.stop()


def _start(remote: str | None, master: str, conf: dict[str, str]) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise PySparkMissingError("pyspark is not installed: pip install 'dovetail-spark[spark]'.") from missing
    builder = SparkSession.builder.appName("dovetail")
    if remote is None:
        for key, value in _QUIET.items():
            builder.config(key, value)
        builder.master(master)
    else:
        _reach(remote)
        builder.remote(remote)
    for key, value in conf.items():
        builder.config(key, value)
    # A server elsewhere has its jars already, or has not: then the first call says what to do there.
    return (builder if remote is not None and remote.startswith("sc://") else dovetail.enable(builder)).getOrCreate()


def _reach(remote: str) -> None:
    """Refuses a server that nobody answers for. Where a proxy stands between, only Spark's client can tell."""
    server = urlsplit(remote)
    if server.scheme != "sc" or server.hostname is None or getproxies():
        return
    address = (server.hostname, server.port or _SERVER_PORT)
    try:
        socket.create_connection(address, _SERVER_SECONDS).close()
    except OSError as error:
        raise StatementError(
            f"no Spark Connect server answers at {remote}: {error.strerror or error}. Check the address, and that the "
            "server runs; start-connect-server.sh of the Spark distribution starts one."
        ) from error


def _pairs(words: list[str] | None, option: str, example: str) -> dict[str, str]:
    pairs = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise StatementError(f"{option} {word} is not allowed: give name=value, such as {option} {example}.")
        pairs[name] = value
    return pairs


def _add_view(spark: SparkSession, name: str, path: str) -> None:
    format = _FORMATS.get(Path(path).suffix.lower(), "parquet")
    options = {"path": path, **({"header": "true", "inferSchema": "true"} if format == "csv" else {})}
    told = ", ".join(f"{key} {_sql.text_literal(spark, value)}" for key, value in options.items())
    _sql.rows(spark, f"CREATE TEMPORARY VIEW {quote(name)} USING {format} OPTIONS ({told})")


def _query(sql: str | None, file: Path | None) -> str:
    if (sql is None) == (file is None):
        raise StatementError(
            "give the query either as SQL text ('-' for standard input) or with --file, not both or none."
        )
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise StatementError(f"--file {file} cannot be read: {error.strerror}.") from error
    else:
        text = sys.stdin.read() if sql == "-" else str(sql)
    # one statement, as people end it in files
    query = text.strip().removesuffix(";")
    if not query:
        raise StatementError("the query is empty.")
    return query
