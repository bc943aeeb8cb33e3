"""Handles failures of commands: one line on stderr, and an exit code.

This module reports errors while a command runs. words.py reports wrong arguments, and __main__.py reports Ctrl-C.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dovetail import _spark_errors
from dovetail.errors import DovetailError, DovetailWarning

FAILED = 1

# Largest number of signals that are read, one byte each; the first Ctrl-C is enough.
_SIGNALS = 64


@dataclass
class CommandEnd:
    """How a command has ended."""

    code: int = 0


@contextmanager
def exit_code() -> Iterator[CommandEnd]:
    """Runs a command in the body of a `with`; turns an exception into one line on stderr and an exit code.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed, whichever exception it caused.
    """
    ended = CommandEnd()
    with warnings.catch_warnings(), _no_log(), _ctrl_c() as pressed:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DovetailWarning)
        warnings.showwarning = lambda message, *_, **__: tell(f"warning: {message}")
        try:
            yield ended
            sys.stdout.flush()
        except BrokenPipeError:
            # the reader has closed the pipe, as `head` does; what Python still flushes goes to /dev/null
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ended.code = FAILED
        except Exception as error:
            if pressed():
                raise KeyboardInterrupt from None
            tell(text(error))
            ended.code = FAILED


def tell(text: str) -> None:
    """Prints a line on stderr."""
    sys.stderr.write(f"dovetail: {text}\n")


@contextmanager
def _ctrl_c() -> Iterator[Callable[[], bool]]:
    """Yields a function that tells whether Ctrl-C was pressed; pyspark's handler may turn it into another error."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno())

        def pressed() -> bool:
            try:
                return signal.SIGINT in reader.recv(_SIGNALS)
            except BlockingIOError:
                return False

        try:
            yield pressed
        finally:
            signal.set_wakeup_fd(before)


def text(error: Exception) -> str:
    """The text of an error for the user of a command; an unexpected error is a bug and is raised again."""
    if isinstance(error, DovetailError):
        return str(error)
    if _spark_errors.is_lost_jvm(error):
        return (
            "Spark's JVM has ended while the command ran, often for lack of memory: --conf spark.driver.memory=4g "
            "gives it more. -v shows what Spark logs."
        )
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if _spark_errors.is_spark_error(error):
        # an error without a condition comes from Dovetail's own code in the JVM
        says = "Spark says: " if _spark_errors.condition(error) else ""
        return f"{says}{_spark_errors.reason(error)}"
    raise error


@contextmanager
def _no_log() -> Iterator[None]:
    """Drops Python's log messages: py4j also logs a connection that Ctrl-C has broken."""
    nowhere = logging.NullHandler()
    logging.getLogger().addHandler(nowhere)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(nowhere)
