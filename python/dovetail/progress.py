"""Progress of long work on stderr: a bar in a terminal or notebook if rich can draw it, otherwise a line per step."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console


class Progress(Protocol):
    """Shows the progress of work with a known number of steps."""

    def step(self, label: str) -> AbstractContextManager[Callable[[float], None]]:
        """One step, for the body of a `with`. It counts as done when the body ends without an error.

        Args:
            label: What the step does; shown while the body runs.

        Returns:
            A context manager. It yields a function to which the body may report the share of the step that is done,
            from 0 to 1.
        """


@contextmanager
def progress(title: str, total: int, show: bool = True) -> Iterator[Progress]:
    """The progress of `total` steps, for the body of a `with`.

    Args:
        title: What is being done, "analyze tpcds".
        total: Number of steps.
        show: False to show nothing.

    Example::

        with progress("analyze", len(tables)) as shown:
            for table in tables:
                with shown.step(table):
                    work(table)
    """
    console = _console() if show else None
    if console is not None:
        with ExitStack() as stack:
            yield _Bar(console, title, total, stack)
    else:
        yield _Lines(title, total, show)


def _console() -> Console | None:
    """The console on stderr; None for a log file or a pipe, and without rich or a notebook's widgets."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=True)
    if console.is_jupyter:
        # without ipywidgets, rich warns once and draws nothing
        return console if find_spec("ipywidgets") else None
    return console if console.is_terminal else None


class _Lines:
    """One line per finished step."""

    def __init__(self, title: str, total: int, show: bool) -> None:
        self.title, self.total, self.show, self.done = title, total, show, 0

    @contextmanager
    def step(self, label: str) -> Iterator[Callable[[float], None]]:
        start = time.perf_counter()
        yield lambda _: None
        self.done += 1
        if self.show:
            seconds = time.perf_counter() - start
            print(f"{self.title}: {label} ({self.done} of {self.total}, {seconds:.1f} s)", file=sys.stderr, flush=True)


class _Bar:
    """A rich progress bar with the step's label, the count and the elapsed time; it also moves within a step."""

    def __init__(self, console: Console, title: str, total: int, stack: ExitStack) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self.bar = stack.enter_context(RichProgress(*columns, console=console))
        self.title = title
        self.task = self.bar.add_task(title, total=total)
        self.done = 0

    @contextmanager
    def step(self, label: str) -> Iterator[Callable[[float], None]]:
        from rich.markup import escape

        self.bar.update(self.task, description=f"{escape(self.title)}: {escape(label)}", refresh=True)
        yield lambda share: self.bar.update(self.task, completed=self.done + share)
        self.done += 1
        self.bar.update(self.task, completed=self.done)
