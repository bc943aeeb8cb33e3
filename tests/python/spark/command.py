"""Runs a command of `dovetail` in this process."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from dovetail.cli import main


class Typed(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def typed(*words: str) -> Typed:
    """Runs a command; for wrong arguments and for --help, argparse raises SystemExit."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
    return Typed(code, out.getvalue(), err.getvalue())
