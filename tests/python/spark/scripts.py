"""Shared by tests that run a script in a separate process, which reports its results line by line."""

from __future__ import annotations

from typing import Any

SAYING = """
def say(*what):
    print(">", *what, flush=True)

def refused(call):
    try:
        call()
    except dovetail.DovetailError as error:
        say(type(error).__name__, "|", " ".join(str(error).split()))
    else:
        say("not refused")
"""
"""Begins a script: `say`, and `refused` for calls that have to end in an error of Dovetail's."""


def lines(done: Any) -> list[str]:
    """The lines that the script reported, without Spark's output (4.2 logs to stdout under spark-submit)."""
    return [line.removeprefix("> ") for line in done.stdout.splitlines() if line.startswith("> ")]
