"""The command line: `dovetail explain | analyze | compare | stats | … | doctor | jar-path`.

words.py has the parser and the list of commands, session.py the options of commands with a session, and errors.py the
handling of failures. Every other file is a group of commands. A new command is a function, whose docstring is its help,
and a call of `Commands.add`. A new file is listed in `_GROUPS`.

It needs the standard library and, for commands with a session, pyspark. Only results go to stdout (a path, options for
spark-submit, JSON), so other programs can read them. All other messages go to stderr.
"""

from __future__ import annotations

import io
import sys
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
    """Runs a command, by default the one in the process's arguments, and returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a locale may lack a character of a name or a value; on stderr, Python writes an escape for it in any case
        sys.stdout.reconfigure(errors="backslashreplace")
    with exit_code() as ended:
        ended.code = commands().run(words)
    return ended.code
