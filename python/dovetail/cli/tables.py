"""Commands about tables: `dovetail analyze | stats`."""

from __future__ import annotations

import argparse
import sys

import dovetail
from dovetail._query import is_query
from dovetail.cli.session import add_session, session
from dovetail.cli.words import Commands, Words, WrongWordsError, add_json, names, show, table_name

# The word for all columns.
_ALL = "all"


def add(commands: Commands) -> None:
    """Adds the commands."""
    command = commands.add("analyze", analyze)
    command.add_argument(
        "target", type=_no_query, metavar="TARGET", help="table (db.t), files (parquet.`/data/t`), view, or database"
    )
    command.add_argument("--columns", type=names, default=[_ALL], metavar="A,B", help="columns; default: all")
    command.add_argument(
        "--groups",
        type=_group,
        action="append",
        default=[],
        metavar="A,B",
        help="columns whose combinations are counted, too; repeatable; not with --mode spark",
    )
    command.add_argument(
        "--mode",
        choices=("dovetail", "spark"),
        default="dovetail",
        help="dovetail: one pass, stored per file, the default; spark: Spark's ANALYZE TABLE",
    )
    add_json(command)
    add_session(command)

    command = commands.add("stats", stats)
    command.add_argument(
        "target",
        type=_table_or_query,
        metavar="TARGET",
        help="table (db.t), files (parquet.`/data/t`), view, or a query in quotes",
    )
    add_json(command)
    add_session(command)


def _no_query(word: str) -> str:
    if is_query(word):
        raise argparse.ArgumentTypeError(
            "it is a query. Name a table or files; `dovetail advise` lists the tables to analyze for a query"
        )
    return table_name(word)


def _group(word: str) -> list[str]:
    group = names(word)
    if len(group) == 1:
        raise argparse.ArgumentTypeError(f"{word!r} is one column; a group has two or more, such as item_id,ticket")
    return group


def _table_or_query(word: str) -> str:
    return word if is_query(word) else table_name(word)


def analyze(given: Words) -> None:
    """Collect statistics of a table, files or a database, and print them."""
    if given.groups and given.mode == "spark":
        raise WrongWordsError(
            "--groups cannot be combined with --mode spark: Spark's ANALYZE counts single columns only"
        )
    columns = _ALL if given.columns == [_ALL] else given.columns
    with session(given) as spark:
        found = dovetail.analyze(
            spark, given.target, columns, mode=given.mode, progress=sys.stderr.isatty(), groups=given.groups
        )
    show(found, given.json)


def stats(given: Words) -> None:
    """Show what is known about a table, each number with its source. Nothing is collected."""
    with session(given) as spark:
        found = dovetail.stats(spark, given.target)
    show(found, given.json)
