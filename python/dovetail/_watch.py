"""Runs a statement, cancels its jobs if it is interrupted, and reports its progress.

The calling thread runs the statement under a job tag; another thread asks Spark's status tracker about that tag. Over
Spark Connect (from 4.0), the server reports the progress. If the progress is not available, it is not shown; this never
fails the statement.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail import _py4j, _sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Seconds between two requests for the progress. A bar that moves twice a second looks alive, and a request takes about
# a millisecond.
PERIOD = 0.5

Tell = Callable[[float], None]


@contextmanager
def statement(spark: SparkSession, tell: Tell) -> Iterator[None]:
    """Cancels the statement that the body of a `with` runs if it is interrupted, and reports its progress."""
    with cancellable(spark) as tag, watched(spark, tag, tell):
        yield


@contextmanager
def cancellable(spark: SparkSession) -> Iterator[str]:
    """Cancels the jobs that the body of a `with` started, and no others, if it is interrupted (Ctrl-C).

    Yields the tag that its jobs have.

    Raises:
        SessionStoppedError: The session is stopped.
    """
    _sql.require_running(spark)
    tag = f"dovetail-{uuid.uuid4().hex}"
    cancel, forget = (_tag_over_connect if _sql.is_connect(spark) else _py4j.tag_jobs)(spark, tag)
    try:
        yield tag
    except BaseException as error:
        if not _interrupted(error):
            raise
        cancel()
        if isinstance(error, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from error
    finally:
        forget()


def _tag_over_connect(spark: SparkSession, tag: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """Does what `_py4j.tag_jobs` does, with Spark Connect's own calls."""
    spark.addTag(tag)
    return lambda: spark.interruptTag(tag), lambda: spark.removeTag(tag)


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error. pyspark's clean-up after Ctrl-C may fail, and its error hides the interrupt."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def watched(spark: SparkSession, tag: str, tell: Tell) -> Iterator[None]:
    """Reports the share of finished tasks, 0 to 1, of the jobs with this tag, while the body of a `with` runs."""
    with _told_by_the_server(spark, tell) if _sql.is_connect(spark) else _asked(spark, tag, tell):
        yield


@contextmanager
def _asked(spark: SparkSession, tag: str, tell: Tell) -> Iterator[None]:
    over = threading.Event()

    def ask() -> None:
        while not over.wait(PERIOD):
            try:
                found = share(_py4j.stages(spark, tag))
            except Exception:
                return
            if found is not None and not over.is_set():
                tell(found)

    thread = threading.Thread(target=ask, name="dovetail-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _told_by_the_server(spark: Any, tell: Tell) -> Iterator[None]:
    register = getattr(spark, "registerProgressHandler", None)
    if register is None:
        yield
        return

    def handler(stages: Iterable[Any] | None, *_: object, **__: object) -> None:
        found = share((stage.num_tasks, stage.num_completed_tasks) for stage in stages or ())
        if found is not None:
            tell(found)

    register(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


def share(stages: Iterable[tuple[int, int]]) -> float | None:
    """Share of finished tasks; None as long as there are no tasks."""
    counted = list(stages)
    tasks = sum(of for of, _ in counted)
    return sum(done for _, done in counted) / tasks if tasks else None
