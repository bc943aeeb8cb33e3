"""The command line: `dovetail explain | analyze | compare | calibrate | demo | doctor | jar-path | …`.

It needs the extra `cli`; __main__.py says so if the extra is missing. Results that other programs read (a path, options
for spark-submit, JSON) go to stdout, unstyled. All other messages go to stderr.
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
    typer.Option("--spark-version", help="Spark version or line (4.1, 3.5.2); default: that of the installed pyspark."),
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
    """Print the options that enable Dovetail in spark-submit, pyspark, spark-sql or spark-shell."""
    typer.echo(f"--jars {_jar(spark_version)} --conf {EXTENSIONS_KEY}={EXTENSION}")
    there = _launch.defaults_value(EXTENSIONS_KEY)
    if there and EXTENSION not in _launch.split_list(there):
        advice = f"spark-defaults.conf sets {EXTENSIONS_KEY}={there}; the options above replace it. To keep it, pass\n"
        advice += f"  --conf {EXTENSIONS_KEY}={_launch.append(there, EXTENSION)}"
    else:
        advice = f"If you already set --jars or {EXTENSIONS_KEY}, append to the value after a comma, {EXTENSION} last."
    typer.echo(advice, err=True)


@app.command("init-script")
def init_script_(
    platform: Annotated[str, typer.Option(help=f"One of: {', '.join(init_script.PLATFORMS)}.")],
    volume: Annotated[
        str, typer.Option(help="Directory on the cluster for the jar and the script.")
    ] = init_script.DEFAULT_VOLUME,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for the script, the jar and the configuration.")
    ] = None,
    spark_version: SparkVersion = None,
) -> None:
    """Print a cluster init script that installs the jar on a managed platform, and the remaining steps."""
    if platform not in init_script.PLATFORMS:
        raise _stop(
            StatementError(f"unknown platform in --platform {platform}. Platforms: {', '.join(init_script.PLATFORMS)}.")
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
    """Check Python, pyspark, Java and the jar; start a session; name the fix of each fault. Exit code 1 on a fault."""
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
    data_dir: Annotated[Path | None, typer.Option(help="Directory for the generated data, which is reused.")] = None,
    queries: Annotated[
        str | None, typer.Option(help="Queries to run, e.g. q72,q25; default: a join-heavy selection.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Measured runs of each query in each mode.")] = 1,
    page: Annotated[Path, typer.Option(help="File for the HTML page with bars and join orders.")] = Path(
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
