"""Commands for pinned orders and known row counts: `dovetail pins | rows`.

Pins are kept in the statistics store. Known row counts belong to a session, which ends with the command. Therefore, a
file keeps them, which `explain` and `compare` read with --rows.
"""

from __future__ import annotations

import shlex
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import dovetail
from dovetail.cli.session import add_session, is_elsewhere, session
from dovetail.cli.views import local_url
from dovetail.cli.words import (
    Commands,
    Parser,
    Words,
    WrongWordsError,
    add_json,
    add_query,
    at_least,
    filled,
    query,
    show_all,
    table_name,
    text_of,
)
from dovetail.errors import DovetailError, DovetailWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def add(commands: Commands) -> None:
    """Adds the commands."""
    command = commands.add("pins", pins)
    action = command.add_mutually_exclusive_group()
    action.add_argument("--capture", type=filled, metavar="NAME", help="pin the order of a query: SQL or --file")
    action.add_argument("--remove", type=filled, metavar="NAME", help="remove a pin")
    action.add_argument("--save", type=filled, metavar="PATH", help="write all pins to a file")
    action.add_argument("--load", type=filled, metavar="PATH", help="add the pins in a file")
    add_query(command)
    command.add_argument("--order", metavar="ORDER", help="with --capture: '((a b) c)'; default: the query's own")
    add_json(command)
    add_session(command)

    command = commands.add("rows", rows)
    command.add_argument("rows", metavar="ROWS.json", type=Path, help="the file; made if it is not there")
    action = command.add_mutually_exclusive_group()
    action.add_argument("--set", type=at_least(0), metavar="N", help="set the rows of a table or a query")
    action.add_argument("--forget", action="store_true", help="remove the rows of a table or a query")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--table", type=table_name, metavar="TABLE", help="the table")
    which.add_argument("--sql", metavar="SQL", help="the query in quotes; '-' reads standard input")
    which.add_argument("-f", "--file", type=Path, metavar="FILE", help="file with the query")
    add_json(command)
    # the file is on this machine, not on a server
    add_session(command, remote=False)


def add_rows(command: Parser) -> None:
    """Adds --rows to a command."""
    command.add_argument(
        "--rows", type=Path, metavar="ROWS.json", help="known row counts, as `dovetail rows` keeps them"
    )


def load_rows(spark: SparkSession, given: Words) -> None:
    """Loads the row counts of --rows into the session, if given."""
    if given.rows is not None:
        dovetail.rows.load(spark, local_url(given.rows))


# Names of this machine in the address of a server.
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def check_rows(given: Words) -> None:
    """Checks that the file with row counts exists and can be read by the session, if one is given.

    Raises:
        DovetailError: It does not exist.
        WrongWordsError: The session is on another machine, which would open a file of its own.
    """
    if given.rows is None:
        return
    remote = getattr(given, "remote", None)
    if is_elsewhere(remote) and urlsplit(str(remote)).hostname not in _THIS_MACHINE:
        raise WrongWordsError("--rows names a file of this machine, which a server on another machine cannot read")
    if not given.rows.exists():
        name = shlex.quote(str(given.rows))
        raise DovetailError(f"there is no file {given.rows}. `dovetail rows {name} --set N --table TABLE` makes it.")


def pins(given: Words) -> None:
    """Show, capture or remove pinned join orders. Without an option: show all pins."""
    text = query(given) if given.capture else None
    if text is None and (given.sql or given.file or given.order):
        raise WrongWordsError("a query and --order belong to --capture NAME")
    with session(given) as spark:
        if text is not None:
            dovetail.pins.capture(spark, given.capture, text, given.order)
        elif given.remove:
            dovetail.pins.remove(spark, given.remove)
        elif given.save:
            dovetail.pins.save(spark, given.save)
        elif given.load:
            dovetail.pins.load(spark, given.load)
        found = dovetail.pins.all(spark)
    show_all(
        given, found, [f"{pin.name}  {pin.order}  used {pin.used} times, in {pin.place}" for pin in found], "no pins"
    )


@contextmanager
def _complete(given: Words) -> Iterator[None]:
    """Fails if the body of a `with` leaves out row counts of the file: the command would write it without them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DovetailWarning)
        try:
            yield
        except DovetailWarning as left_out:
            raise DovetailError(
                f"{given.rows} is not changed, because its other row counts cannot be used: {left_out}. Make their "
                "tables known (--view), or remove these entries from the file."
            ) from None


def rows(given: Words) -> None:
    """Show or change known row counts, which are kept in a file. Without an option: show all row counts in the file."""
    changes = given.set is not None or given.forget
    sql = text_of(given.sql, given.file) if given.sql or given.file else None
    if changes == (given.table is None and sql is None):
        raise WrongWordsError("give --set N or --forget, together with one of --table, --sql and --file")
    if not changes:
        check_rows(given)
    with session(given) as spark:
        if given.rows.exists():
            with _complete(given) if changes else nullcontext():
                load_rows(spark, given)
        if given.set is not None:
            dovetail.rows.tell(spark, given.set, sql=sql, table=given.table)
        elif changes:
            dovetail.rows.forget(spark, sql=sql, table=given.table)
        if changes:
            dovetail.rows.save(spark, local_url(given.rows))
        found = dovetail.rows.all(spark)
    show_all(given, found, [f"{known.rows:,.0f}  {known.kind} {known.text}" for known in found], "no known row counts")
