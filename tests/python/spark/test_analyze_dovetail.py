"""analyze in its default mode: one pass per target; the statement's answer and stats show what Dovetail keeps."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from frames import assert_rows
from pyspark.sql import DataFrame, SparkSession

import dovetail
from dovetail import DatabaseStats, DovetailWarning, TableStats, _sql, _watch
from dovetail.errors import (
    AnalyzeError,
    ColumnNotFoundError,
    NotAnalyzableError,
    PartitionNotFoundError,
    TargetNotFoundError,
)


def files(spark: SparkSession, target: str) -> DataFrame:
    """Number of files that an ANALYZE reads now, and of those whose statistics are kept."""
    return spark.sql(f"DOVETAIL ANALYZE {target}").select("files_read", "files_kept")


@pytest.fixture
def pieces(spark: SparkSession, tmp_path: Path) -> str:
    """A path with four files."""
    path = str(tmp_path / "pieces")
    spark.range(0, 1000, 1, 4).selectExpr("id", "id % 10 AS g").write.parquet(path)
    return path


def test_a_table(spark: SparkSession, tables: str) -> None:
    result = dovetail.analyze(spark, "star.item", progress=False)
    assert isinstance(result, TableStats)
    assert (result.table, result.rows) == ("star.item", 100)
    assert (result["item_id"].distinct_count, result["item_id"].min, result["item_id"].max) == (100, "0", "99")
    assert_rows(files(spark, "TABLE star.item").select("files_read"), (0,))


def test_a_path_and_a_frame(spark: SparkSession, pieces: str) -> None:
    result = dovetail.analyze(spark, f"parquet.`{pieces}`", groups=[["id", "g"]], progress=False)
    assert isinstance(result, TableStats)
    assert result.table == f"parquet.`{pieces}`"
    assert_rows(files(spark, f"PATH parquet.`{pieces}`"), (0, 4))
    spark.range(5).selectExpr("id", "id AS g").write.mode("append").parquet(pieces)
    frame = spark.read.parquet(pieces).where("g > 1")
    again = dovetail.analyze(spark, frame, progress=False)
    assert isinstance(again, TableStats)
    assert again.table == "DataFrame"
    # its view is in its own session
    assert isinstance(dovetail.analyze(spark.newSession(), frame, progress=False), TableStats)
    assert_rows(files(spark, f"PATH parquet.`{pieces}`").select("files_read"), (0,))
    # nor is its name in an error
    with pytest.raises(PartitionNotFoundError, match=r"^DataFrame is not partitioned") as caught:
        dovetail.analyze(spark, frame, partitions={"g": 1}, progress=False)
    assert caught.value.parameters["table"] == "DataFrame"
    assert_rows(spark.sql("SHOW VIEWS").where("viewName LIKE '%dovetail%'"))


def test_a_view_a_database_and_partitions(spark: SparkSession, tables: str) -> None:
    dovetail.analyze(spark, "star.names", progress=False)
    dovetail.analyze(spark, "star.sales", partitions=[{"year": 2023}, {"month": "m1"}], progress=False)
    some = files(spark, "TABLE star.sales").selectExpr("files_read > 0", "files_kept > 0")
    assert_rows(some, (True, True))
    every = dovetail.analyze(spark, "star.*", progress=False)
    assert isinstance(every, DatabaseStats)
    assert [table.table for table in every] == ["item", "sales", "store"]
    assert every["sales"].rows == 10000


def test_notes_are_warnings_at_the_callers_line(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS parted")
    spark.sql("CREATE TABLE parted USING parquet PARTITIONED BY (p) AS SELECT 1 AS id, 1 AS p")
    with pytest.warns(DovetailWarning, match="these partitions have no files") as warned:
        dovetail.analyze(spark, "parted", partitions={"p": 2}, progress=False)
    assert [warning.filename for warning in warned if warning.category is DovetailWarning] == [__file__]


def test_progress_goes_to_stderr(spark: SparkSession, tables: str, capsys: pytest.CaptureFixture[str]) -> None:
    dovetail.analyze(spark, "star")
    assert "analyze star: sales (2 of 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "arguments", "error", "said"),
    [
        ("star.nosuch", {}, TargetNotFoundError, "Tables of database star"),
        ("star.item", {"columns": ["nmae"]}, ColumnNotFoundError, "Did you mean name"),
        ("star.item", {"groups": [["item_id", "nmae"]]}, ColumnNotFoundError, "Did you mean name"),
        ("star.item", {"groups": [["item_id"]]}, NotAnalyzableError, "two or more columns"),
        ("star.sales", {"partitions": {"item_id": 1}}, PartitionNotFoundError, "Partition columns: year, month"),
        ("star", {"columns": ["item_id"]}, NotAnalyzableError, "Call analyze per table"),
        ("star.item", {"noscan": True}, NotAnalyzableError, "mode='spark'"),
        ("parquet.`/nonexistent/dovetail`", {}, AnalyzeError, "nonexistent"),
        (7, {}, NotAnalyzableError, "or a DataFrame of Spark, got int"),
    ],
)
def test_refusals(
    spark: SparkSession, tables: str, target: object, arguments: dict[str, object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        dovetail.analyze(spark, target, progress=False, **arguments)  # type: ignore[arg-type]


def wait_for(condition: Callable[[], bool]) -> Callable[[], None]:
    """Waits until the condition holds, for at most 20 seconds."""

    def wait() -> None:
        deadline = time.monotonic() + 20
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.1)

    return wait


def test_an_interrupt_cancels_the_job_and_leaves_the_store(spark: SparkSession, pieces: str) -> None:
    dovetail.analyze(spark, f"parquet.`{pieces}`", progress=False)

    tracker = spark.sparkContext.statusTracker()
    running = wait_for(lambda: bool(tracker.getActiveJobsIds()))

    def interrupt() -> None:
        running()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    # pyspark's own handler would cancel every job of the context, but this test is about `cancellable`.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt), _watch.cancellable(spark):
            _sql.rows(spark, "SELECT count(*) FROM range(1000000000) WHERE hash(id, uuid()) = 1")
    finally:
        signal.signal(signal.SIGINT, before)
    wait_for(lambda: not tracker.getActiveJobsIds())()
    assert tracker.getActiveJobsIds() == []
    assert_rows(files(spark, f"PATH parquet.`{pieces}`"), (0, 4))


def test_a_statement_that_runs_tells_how_far_it_is(spark: SparkSession) -> None:
    told: list[float] = []
    ids = "SELECT /*+ REPARTITION(40) */ id FROM range(0, 2000000, 1, 2)"
    slow = f"SELECT count(*) FROM ({ids}) WHERE hash(id, uuid()) = 1"
    for _ in range(20):
        with _watch.statement(spark, told.append):
            _sql.rows(spark, slow)
        if len(set(told)) > 2:
            break
    assert len(set(told)) > 2, "a statement of seconds is asked about twice a second"
    assert all(0.0 <= share <= 1.0 for share in told)
    before = len(told)
    _sql.rows(spark, slow)
    assert len(told) == before, "nothing is asked after the statement's end"
