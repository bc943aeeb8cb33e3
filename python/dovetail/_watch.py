"""How far a running statement is: the share of its tasks that are done, asked of Spark while the caller waits.

The calling thread runs the statement under a job tag; a thread of ours asks Spark's status tracker about that tag. Over
Spark Connect (from 4.0) the server tells by itself. What cannot be asked is not shown: watching never fails the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail import _sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Seconds between two questions: a bar that moves twice a second looks alive, and a question costs about a millisecond.
PERIOD = 0.5

Tell = Callable[[float], None]


@contextmanager
def statement(spark: SparkSession, tell: Tell) -> Iterator[None]:
    """The body of a `with` runs one statement: cancelled where it is interrupted, watched while it runs."""
    with _sql.cancellable(spark) as tag, watched(spark, tag, tell):
        yield


@contextmanager
def watched(spark: SparkSession, tag: str, tell: Tell) -> Iterator[None]:
    """Tells the share of tasks done, 0 to 1, of the jobs that have this tag, while the body of a `with` runs."""
    with _told_by_the_server(spark, tell) if _sql.is_connect(spark) else _asked(spark, tag, tell):
        yield


@contextmanager
def _asked(spark: SparkSession, tag: str, tell: Tell) -> Iterator[None]:
    over = threading.Event()

    def ask() -> None:
        while not over.wait(PERIOD):
            try:
                found = share(_stages(spark, tag))
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


def _stages(spark: SparkSession, tag: str) -> Iterator[tuple[int, int]]:
    """Tasks, and those that are done, of every stage of the tag's jobs."""
    tracker: Any = spark.sparkContext._jsc.sc().statusTracker()
    for job in tracker.getJobIdsForTag(tag):
        info = tracker.getJobInfo(job)
        for stage in info.get().stageIds() if info.isDefined() else ():
            of = tracker.getStageInfo(stage)
            if of.isDefined():
                yield of.get().numTasks(), of.get().numCompletedTasks()


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
    """Done tasks over all tasks; None as long as there are none."""
    counted = list(stages)
    tasks = sum(of for of, _ in counted)
    return sum(done for _, done in counted) / tasks if tasks else None
