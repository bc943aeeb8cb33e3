"""Commands about the installation: `dovetail doctor | jar-path | submit-args | init-script`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from dovetail import _launch, doctor, init_script, jars
from dovetail._version import __version__
from dovetail.cli.errors import FAILED, tell
from dovetail.cli.words import Commands, Parser, Words, WrongWordsError, add_json
from dovetail.errors import StatementError, UnsupportedSparkError
from dovetail.jars import EXTENSION
from dovetail.session import EXTENSIONS_KEY, JARS_KEY


def add(commands: Commands) -> None:
    """Adds the commands."""
    add_json(commands.add("doctor", diagnose))
    _add_spark_version(commands.add("jar-path", jar_path))
    _add_spark_version(commands.add("submit-args", submit_args))

    command = commands.add("init-script", init)
    command.add_argument("--platform", choices=init_script.PLATFORMS, required=True, help="who starts the cluster")
    command.add_argument(
        "--volume",
        default=init_script.DEFAULT_VOLUME,
        metavar="DIR",
        help=f"directory on the cluster for the jar and the script; default: {init_script.DEFAULT_VOLUME}",
    )
    command.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="directory here for the script, the jar and the configuration"
    )
    _add_spark_version(command)


def _add_spark_version(command: Parser) -> None:
    command.add_argument(
        "--spark-version",
        type=_spark_version,
        metavar="VERSION",
        help="Spark version or line (4.1, 3.5.2); default: that of the installed pyspark",
    )


def _spark_version(word: str) -> str:
    try:
        jars.parse_line(word)
    except UnsupportedSparkError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return word


def diagnose(given: Words) -> int:
    """Check Python, pyspark, Java and the jar; start a session; name the fix of each fault. Exit code 1 on a fault."""
    checks = doctor.examine()
    print(json.dumps([check.to_dict() for check in checks], indent=2) if given.json else _told(checks))
    return FAILED if any(check.status == "failed" for check in checks) else 0


def _told(checks: Sequence[doctor.Check]) -> str:
    """The checks as text, one per line, then the fixes, each with the name of its check."""
    status, name = (max(len(getattr(check, part)) for check in checks) for part in ("status", "name"))
    lines = [f"{check.status:{status}}  {check.name:{name}}  {check.found}" for check in checks]
    fixes = [f"{check.name}: {check.fix}" for check in checks if check.fix]
    return "\n".join([f"dovetail {__version__}", *lines, *fixes])


def jar_path(given: Words) -> None:
    """Print the path of the bundled jar, for spark-submit --jars $(dovetail jar-path)."""
    print(jars.jar_path(given.spark_version))


def submit_args(given: Words) -> None:
    """Print the options that enable Dovetail in spark-submit, pyspark, spark-sql or spark-shell."""
    jar = jars.jar_path(given.spark_version)
    # the shell divides the options at blanks; Spark decodes a URI
    if any(letter.isspace() for letter in jar):
        jar = Path(jar).as_uri()
    print(f"--jars {jar} --conf {EXTENSIONS_KEY}={EXTENSION}")
    replaced = False
    for key, ours, option in ((JARS_KEY, jar, "--jars "), (EXTENSIONS_KEY, EXTENSION, f"--conf {EXTENSIONS_KEY}=")):
        there = _launch.defaults_value(key)
        if there and ours not in _launch.split_list(there):
            replaced = True
            tell(
                f"spark-defaults.conf sets {key}={there}; the options above replace it. To keep it, pass\n"
                f"  {option}{_launch.append(there, ours)}"
            )
    if not replaced:
        tell(f"if you already set --jars or {EXTENSIONS_KEY}, append to the value after a comma, {EXTENSION} last.")


def init(given: Words) -> None:
    """Print a cluster init script that installs the jar on a managed platform, and the remaining steps."""
    try:
        made = init_script.databricks(given.volume, given.spark_version)
    except StatementError as error:
        raise WrongWordsError(f"argument --volume: {error}") from error
    if given.output is None:
        print(made.script, end="")
    else:
        for file in made.write(given.output):
            tell(f"wrote {file}")
    tell(f"next steps\n{made.steps()}")
