"""Commands about queries: `dovetail explain | compare | advise`."""

from __future__ import annotations

import argparse
from pathlib import Path

import dovetail
from dovetail.cli.errors import FAILED, tell
from dovetail.cli.session import add_session, session
from dovetail.cli.steering import add_rows, check_rows, load_rows
from dovetail.cli.words import (
    Commands,
    Words,
    WrongWordsError,
    add_json,
    add_query,
    at_least,
    check_output,
    query,
    show,
    text_of,
)
from dovetail.errors import StatementError
from dovetail.explanation import FORMATS, format_of


def add(commands: Commands) -> None:
    """Adds the commands."""
    command = commands.add("explain", explain)
    add_query(command)
    command.add_argument("--format", choices=FORMATS, help="default: the suffix of --output, else text")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="file to write instead of printing")
    command.add_argument("--actual", action="store_true", help="also run the query; show the actual rows of each join")
    add_rows(command)
    add_session(command)

    command = commands.add("compare", compare)
    add_query(command)
    command.add_argument(
        "--runs", type=at_least(1), default=1, metavar="N", help="measured runs each way, default 1; medians count"
    )
    command.add_argument(
        "--warmup",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="run once each way before measuring",
    )
    add_json(command)
    add_rows(command)
    add_session(command)

    command = commands.add("advise", advise)
    command.add_argument("sql", metavar="SQL", nargs="*", help="queries in quotes; '-' reads one from standard input")
    command.add_argument(
        "-f", "--file", type=Path, action="append", default=[], metavar="FILE", help="file with a query; repeatable"
    )
    add_json(command)
    add_session(command)


def explain(given: Words) -> None:
    """Show the join order of a query, and why. The query is planned; it runs only with --actual."""
    text, output = query(given), given.output
    try:
        chosen = given.format or ("text" if output is None else format_of(output))
    except StatementError as error:
        raise WrongWordsError(f"argument --output: {error}") from error
    if output is not None:
        check_output("--output", output)
    check_rows(given)
    with session(given) as spark:
        load_rows(spark, given)
        found = dovetail.explain(text, spark, actual=given.actual)
    if output is None:
        print(found.render(chosen))
    else:
        found.save(output, chosen)
        tell(f"wrote {output}")


def compare(given: Words) -> int:
    """Run a query without and with Dovetail; compare answers, times and rows. Exit code 1 if the answers differ."""
    text = query(given)
    check_rows(given)
    with session(given) as spark:
        load_rows(spark, given)
        found = dovetail.compare(spark, text, warmup=given.warmup, runs=given.runs)
    show(found, given.json)
    return 0 if found.same_answer else FAILED


def advise(given: Words) -> None:
    """Show which tables to analyze for some queries, with the statements. The queries are planned, not run."""
    texts = [text_of(sql, None) for sql in given.sql] + [text_of(None, file) for file in given.file]
    if not texts:
        raise WrongWordsError("give queries as SQL text or with --file")
    with session(given) as spark:
        found = dovetail.advise(spark, texts)
    show(found, given.json)
