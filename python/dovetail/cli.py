"""The command line: `dovetail explain | analyze | compare | calibrate | demo | doctor | jar-path | …`.

Needs the extra `cli`; __main__.py says so where it is missing. What is to be read by another program (a path, words for
spark-submit, JSON) goes to stdout alone and unstyled; everything else to stderr.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dovetail import _cli_session, _launch, doctor, init_script, jars
from dovetail._version import __version__
from dovetail.errors import DovetailError, StatementError
from dovetail.session import EXTENSION, EXTENSIONS_KEY

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Dovetail: better join orders for Apache Spark SQL.")

SparkVersion = Annotated[
    str | None,
    typer.Option("--spark-version", help="A Spark version or line (4.1, 3.5.2); default: the installed pyspark's."),
]

_STYLE = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "dim"}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dovetail {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


_cli_session.register(app)


@app.command("jar-path")
def jar_path(spark_version: SparkVersion = None) -> None:
    """Print the path of the bundled jar, for spark-submit --jars $(dovetail jar-path)."""
    typer.echo(_jar(spark_version))


@app.command("submit-args")
def submit_args(spark_version: SparkVersion = None) -> None:
    """Print the arguments for spark-submit, pyspark, spark-sql or spark-shell that switch Dovetail on."""
    typer.echo(f"--jars {_jar(spark_version)} --conf {EXTENSIONS_KEY}={EXTENSION}")
    there = _launch.defaults_value(EXTENSIONS_KEY)
    if there and EXTENSION not in _launch.split_list(there):
        advice = f"spark-defaults.conf has {EXTENSIONS_KEY}={there}, which the words above replace. To keep it, pass\n"
        advice += f"  --conf {EXTENSIONS_KEY}={_launch.append(there, EXTENSION)}"
    else:
        advice = f"Where you have --jars or {EXTENSIONS_KEY} already, append with a comma, {EXTENSION} last."
    typer.echo(advice, err=True)


@app.command("init-script")
def init_script_(
    platform: Annotated[str, typer.Option(help=f"One of: {', '.join(init_script.PLATFORMS)}.")],
    volume: Annotated[
        str, typer.Option(help="Directory of the cluster that will hold jar and script.")
    ] = init_script.DEFAULT_VOLUME,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory to write script, jar and configuration to.")
    ] = None,
    spark_version: SparkVersion = None,
) -> None:
    """Print a cluster init script that brings the jar to a managed platform, and say what else to set there."""
    if platform not in init_script.PLATFORMS:
        raise _stop(
            StatementError(f"--platform {platform} is not known. Platforms: {', '.join(init_script.PLATFORMS)}.")
        )
    try:
        made = init_script.databricks(volume, spark_version)
    except DovetailError as error:
        raise _stop(error) from error
    if output is None:
        typer.echo(made.script, nl=False)
    else:
        for file in made.write(output):
            typer.echo(f"wrote {file}", err=True)
    typer.echo(made.steps(), err=True)


@app.command("doctor")
def diagnose(
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check Python, pyspark, Java, jar; start a session; name each failure's fix; exit code 1 on a failure."""
    checks = doctor.examine()
    if as_json:
        typer.echo(json.dumps([check.to_dict() for check in checks], indent=2))
    else:
        _show(checks)
    if any(check.status == "failed" for check in checks):
        raise typer.Exit(1)


@app.command()
def demo(
    scale: Annotated[float, typer.Option(help="TPC-DS scale factor: 1 is about 1 GB of raw data.")] = 1,
    data_dir: Annotated[Path | None, typer.Option(help="Where the generated data is kept for the next time.")] = None,
    queries: Annotated[
        str | None, typer.Option(help="Queries to run, e.g. q72,q25; default: a join-heavy selection.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Measured runs of each query, in each mode.")] = 1,
    page: Annotated[Path, typer.Option(help="Where the page with bars and orders is written.")] = Path(
        "dovetail-demo.html"
    ),
) -> None:
    """Generate TPC-DS data and run join-heavy queries with plain Spark and with Dovetail, side by side."""
    try:
        from dovetail import demo as job
    except ModuleNotFoundError as missing:
        typer.echo(f"dovetail demo needs {missing.name}: pip install 'dovetail-spark[demo,spark]'", err=True)
        raise typer.Exit(2) from None
    chosen = [query.strip() for query in queries.split(",") if query.strip()] if queries else None
    try:
        code = job.main(scale=scale, data_dir=data_dir, queries=chosen, repeat=repeat, page=page)
    except DovetailError as error:
        raise _stop(error) from error
    raise typer.Exit(code or 0)


def _jar(spark_version: str | None) -> str:
    try:
        return jars.jar_path(spark_version)
    except DovetailError as error:
        raise _stop(error) from error


def _stop(error: DovetailError) -> typer.Exit:
    typer.echo(f"dovetail: {error}", err=True)
    return typer.Exit(1)


def _show(checks: list[doctor.Check]) -> None:
    table = Table("", "check", "found", title=f"dovetail {__version__}", title_justify="left")
    for check in checks:
        style = _STYLE[check.status]
        table.add_row(f"[{style}]{check.status}[/{style}]", check.name, escape(check.found))
    # Narrower than its longest path, a table in a log file would break it over lines.
    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.print(table)
    for check in checks:
        if check.fix:
            console.print(f"[{_STYLE[check.status]}]{check.name}[/]: {escape(check.fix)}", soft_wrap=True)
