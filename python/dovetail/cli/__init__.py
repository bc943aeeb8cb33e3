"""The command line: `dovetail explain | analyze | compare | stats | … | doctor | jar-path`.

words.py is what commands are made of; session.py is what those with a session share; errors.py is how a command ends
that did not succeed. Every other file is a group of commands. A new command is a function with a docstring, which is
its help, and a call of `Commands.add`; a new file of them is named in `_GROUPS`.

It needs the standard library and, for commands with a session, pyspark. Results that other programs read (a path,
options for spark-submit, JSON) are alone on stdout. All other messages go to stderr.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail._version import __version__
from dovetail.cli import history, installation, measuring, queries, steering, tables
from dovetail.cli.errors import exit_code
from dovetail.cli.words import Commands, Parser

_GROUPS = (queries, tables, steering, history, measuring, installation)


def commands() -> Commands:
    """All commands."""
    parser = Parser(prog="dovetail", description="Dovetail: better join orders for Apache Spark SQL.")
    parser.add_argument("--version", action="version", version=f"dovetail {__version__}", help="print the version")
    found = Commands(parser)
    for group in _GROUPS:
        group.add(found)
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command, by default that of the process's arguments; returns the exit code."""
    with exit_code() as ended:
        ended.code = commands().run(words)
    return ended.code
