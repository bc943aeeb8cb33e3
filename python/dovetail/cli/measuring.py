"""Commands that measure: `dovetail calibrate | demo`."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import dovetail
from dovetail.calibration import FEWEST_ROWS
from dovetail.cli.session import add_session, session
from dovetail.cli.words import Commands, Words, WrongWordsError, add_json, at_least, check_output, names, show
from dovetail.errors import DovetailError


def add(commands: Commands) -> None:
    """Adds the commands."""
    command = commands.add("calibrate", calibrate)
    command.add_argument(
        "--rows", type=at_least(FEWEST_ROWS), metavar="N", help="rows of the larger inputs; default: 2000000"
    )
    command.add_argument("--reset", action="store_true", help="restore the built-in constants")
    add_json(command)
    add_session(command, views=False)

    command = commands.add("demo", demo)
    command.add_argument(
        "--scale", type=_scale, default=1.0, help="TPC-DS scale factor, default 1, which is about 1 GB of raw data"
    )
    command.add_argument("--data-dir", type=Path, metavar="DIR", help="directory for the generated data; it is reused")
    command.add_argument("--queries", type=names, metavar="Q72,Q25", help="queries to run; default: a selection")
    command.add_argument(
        "--repeat", type=at_least(1), default=1, metavar="N", help="measured runs of each query in each mode"
    )
    command.add_argument(
        "--page", type=Path, default=Path("dovetail-demo.html"), metavar="FILE", help="file for the HTML page"
    )


def _scale(word: str) -> float:
    try:
        scale = float(word)
    except ValueError:
        scale = math.nan
    if not (scale > 0 and math.isfinite(scale)):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number above 0")
    return scale


def calibrate(given: Words) -> None:
    """Measure the constants of the cost model on this cluster, and store them with the statistics. Optional."""
    if given.reset and given.rows is not None:
        raise WrongWordsError("--reset measures nothing: leave --rows out")
    with session(given) as spark:
        found = dovetail.calibrate(spark, given.rows, given.reset)
    show(found, given.json)


def demo(given: Words) -> int:
    """Run TPC-DS queries with plain Spark and with Dovetail, side by side. The data is generated."""
    check_output("--page", given.page)
    try:
        from dovetail import demo as job

        return job.main(
            scale=given.scale, data_dir=given.data_dir, queries=given.queries, repeat=given.repeat, page=given.page
        )
    except ModuleNotFoundError as missing:
        raise DovetailError(f"the demo needs {missing.name}: pip install 'dovetail-spark[demo,spark]'.") from missing
