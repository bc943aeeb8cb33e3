"""The command `dovetail history`: row counts of past queries."""

from __future__ import annotations

import dovetail
from dovetail import _sql
from dovetail._identifiers import parse_name, quote_name
from dovetail._store import warn_if_unchanged
from dovetail.cli.session import add_session, session
from dovetail.cli.words import Commands, Words, add_json, filled, show_all, table_name


def add(commands: Commands) -> None:
    """Adds the command."""
    command = commands.add("history", history)
    action = command.add_mutually_exclusive_group()
    action.add_argument("--forget", action="store_true", help="remove the whole history")
    action.add_argument(
        "--forget-table", type=table_name, metavar="TABLE", help="remove the row counts of queries with this table"
    )
    action.add_argument("--save", type=filled, metavar="PATH", help="write it to a file")
    action.add_argument("--load", type=filled, metavar="PATH", help="add the history in a file")
    add_json(command)
    add_session(command)


def history(given: Words) -> None:
    """Show, copy or remove the rows of sub-plans that past queries have counted. Without an option: show all."""
    with session(given) as spark:
        statement = None
        if given.forget:
            statement = "DOVETAIL FORGET HISTORY"
        elif given.forget_table:
            table = quote_name(parse_name(given.forget_table))
            statement = f"DOVETAIL FORGET HISTORY FOR TABLE {table}"
        elif given.save or given.load:
            verb = "SAVE" if given.save else "LOAD"
            statement = f"DOVETAIL {verb} HISTORY {_sql.text_literal(spark, given.save or given.load)}"
        if statement:
            warn_if_unchanged([row[0] for row in _sql.statement_rows(spark, statement)])
        found = dovetail.history(spark)
    show_all(given, found, [str(found)] if found else [], "no history")
