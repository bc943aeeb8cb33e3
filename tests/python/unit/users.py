"""Runs a part of a test without the rights of root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# A user id that owns no files.
NOBODY = 65_534


@contextmanager
def as_a_user() -> Iterator[None]:
    """Without the right of root to read and write every file."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
