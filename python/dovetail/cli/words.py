"""The parser, which reports wrong arguments in two lines on stderr, the list of commands, and shared arguments.

A wrong argument ends a command with exit code 2 before anything is started.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn, Protocol

from dovetail._identifiers import parse_name
from dovetail.cli.errors import tell
from dovetail.errors import DovetailError, StatementError

WRONG_WORDS = 2

Words = argparse.Namespace
Run = Callable[[Words], "int | None"]


class Answer(Protocol):
    """A result of a command: `print` shows it, and `to_dict` returns its plain form."""

    def to_dict(self) -> dict[str, Any]:
        """The plain form."""


class WrongWordsError(DovetailError):
    """The arguments of a command are wrong, or cannot be combined."""


class Parser(argparse.ArgumentParser):
    """The parser of the whole line or of one command. Options cannot be abbreviated; the help shows their defaults."""

    def __init__(self, **given: Any) -> None:
        super().__init__(allow_abbrev=False, **given)

    def error(self, message: str) -> NoReturn:
        """Prints the message and ends the process."""
        self.exit(WRONG_WORDS, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


class Commands:
    """The commands, by name."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._parsers = parser.add_subparsers(title="commands", metavar="COMMAND")

    @property
    def names(self) -> list[str]:
        """The names, in the order of the help."""
        return list(self._parsers.choices)

    def add(self, name: str, run: Run) -> Parser:
        """Adds a command. The docstring of `run` is its help; its first sentence is shown in the list of commands."""
        text = " ".join((inspect.getdoc(run) or "").split())
        added: Parser = self._parsers.add_parser(name, help=text.partition(". ")[0].rstrip("."), description=text)
        added.set_defaults(run=run, parser=added)
        return added

    def run(self, words: Sequence[str] | None) -> int:
        """Runs the command that the arguments name; returns its exit code."""
        given, unknown = self._parser.parse_known_args(words)
        if unknown:
            # the parser of the command: its help lists the command's arguments
            parser: Parser = getattr(given, "parser", self._parser)
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        if not hasattr(given, "run"):
            self._parser.print_help(sys.stderr)
            return WRONG_WORDS
        try:
            code: int | None = given.run(given)
            return code or 0
        except WrongWordsError as error:
            command: Parser = given.parser
            command.error(str(error))


def names(text: str) -> list[str]:
    """Splits names that are separated by commas.

    >>> names("item_id, price,")
    ['item_id', 'price']
    """
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} has no name in it")
    return found


def filled(word: str) -> str:
    """Checks that a word is not empty. It is empty if a script passes a variable that is not set."""
    if not word.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return word


def table_name(word: str) -> str:
    """The name of a table, a view, a database or files."""
    try:
        parse_name(word)
    except StatementError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return word


def add_query(command: Parser) -> None:
    """Adds the query: SQL text, '-' or --file."""
    command.add_argument("sql", metavar="SQL", nargs="?", help="the query in quotes; '-' reads standard input")
    command.add_argument("-f", "--file", type=Path, metavar="FILE", help="file with the query")


def check_output(option: str, file: Path) -> None:
    """Checks that a file can be written, before the work for it begins.

    Raises:
        DovetailError: Its directory does not exist, it is a directory, or it must not be written.
    """
    if not file.parent.is_dir():
        raise DovetailError(f"{option} {file} cannot be written: the directory {file.parent} does not exist.")
    # of a directory that must not be entered, nobody knows its files
    entered = os.access(file.parent, os.X_OK)
    if entered and file.is_dir():
        raise DovetailError(f"{option} {file} cannot be written: it is a directory. Name a file in it.")
    written = file if entered and file.exists() else file.parent
    if not (entered and os.access(written, os.W_OK)):
        raise DovetailError(f"{option} {file} cannot be written: no permission to write to {written}.")


def add_json(command: Parser) -> None:
    """Adds --json."""
    command.add_argument("--json", action="store_true", help="print JSON")


def show(found: Answer, as_json: bool) -> None:
    """Prints the result of a command."""
    print(json.dumps(found.to_dict()) if as_json else found)


def show_all(given: Words, found: Sequence[Any], lines: Sequence[str], none: str) -> None:
    """Prints a list of dataclasses, as JSON or in lines, or a message if it is empty."""
    if given.json:
        print(json.dumps([asdict(one) for one in found], default=str))
    elif lines:
        print("\n".join(lines))
    else:
        tell(none)


def query(given: Words) -> str:
    """The text of the query from the arguments of `add_query`.

    Raises:
        WrongWordsError: No query is given, or two are.
        DovetailError: The file cannot be read, or the text is empty.
    """
    if (given.sql is None) == (given.file is None):
        raise WrongWordsError("give the query either as SQL text ('-' for standard input) or with --file")
    return text_of(given.sql, given.file)


def text_of(sql: str | None, file: Path | None) -> str:
    """The text of one query: from the file, from standard input for '-', or the SQL itself.

    Raises:
        WrongWordsError: The text is empty.
        DovetailError: The file cannot be read.
    """
    place = f"--file {file}" if file is not None else "standard input" if sql == "-" else "the query"
    try:
        text = _read(sql, file)
        # text from a terminal or a pipe may contain bytes that are not UTF-8
        text.encode()
    except OSError as error:
        raise DovetailError(f"{place} cannot be read: {error.strerror}.") from error
    except UnicodeError as error:
        raise DovetailError(f"{place} cannot be read: it is not UTF-8 text.") from error
    # a statement in a file may end with a semicolon
    found = text.strip().removesuffix(";").rstrip()
    if not found:
        raise WrongWordsError("the query is empty")
    return found


def _read(sql: str | None, file: Path | None) -> str:
    if file is not None:
        return file.read_text(encoding="utf-8")
    return sys.stdin.read() if sql == "-" else str(sql)


def at_least(lowest: int) -> Callable[[str], int]:
    """Returns a reader of whole numbers with a lower limit."""

    def read(word: str) -> int:
        if not word.isdecimal() or int(word) < lowest:
            raise argparse.ArgumentTypeError(f"{word!r} is not a whole number, at least {lowest}")
        return int(word)

    return read
