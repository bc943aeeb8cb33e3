"""Progress on standard error, one line at a time: readable in a terminal and in a log, and not part of the results."""

from __future__ import annotations

import sys
import time

_STARTED = time.monotonic()


def say(line: str) -> None:
    """Prints a line with the time since the start."""
    print(f"[{time.monotonic() - _STARTED:7.1f} s] {line}", file=sys.stderr, flush=True)
