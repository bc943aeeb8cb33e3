"""Warns if a statement could not change the statistics store."""

from __future__ import annotations

import warnings

from dovetail.errors import DovetailWarning

# The words of the jar (SteerCommand.scala) for what it did only in this application; the reason follows.
_ONLY_HERE = (", in this application only: ", " from this application, but not from the store: ", "; the entries of ")


def warn_if_unchanged(done: list[str]) -> None:
    """Issues one warning if the store was not changed: what was done, and why it holds only in this application."""
    for told in done:
        if any(words in told for words in _ONLY_HERE):
            # the caller of the function that runs the statement
            warnings.warn(told, DovetailWarning, stacklevel=3)
            return
