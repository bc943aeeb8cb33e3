"""`history_cost`: its targets, and the time of the threads that record."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import dovetail
from dovetail import _sql
from dovetail_bench.history_cost import Found, Run, history_thread_seconds, targets


def found(*lookups: float, thread: float, failures: dict[str, str] | None = None) -> Found:
    return Found([Run(f"q{i}", 2.0, 20.0, 9.0, ms) for i, ms in enumerate(lookups)], thread, failures or {})


def hits(run: Found) -> list[bool]:
    return [target["hit"] for target in targets(run)]


def test_the_median_of_the_look_ups_and_the_share_of_the_thread_are_targets() -> None:
    assert hits(found(0.5, 0.9, 30.0, thread=0.05)) == [True, True, True]
    assert hits(found(0.5, 1.1, 30.0, thread=0.05)) == [False, True, True]
    assert hits(found(0.5, 0.9, 30.0, thread=0.07)) == [True, False, True]
    assert hits(found(0.5, thread=0.0, failures={"q7": "no"})) == [True, True, False]


def test_the_threads_that_record_take_time_for_a_run(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(100).selectExpr("id", "id % 7 AS k").write.parquet(str(tmp_path / "t"))
    table = f"parquet.`{tmp_path / 't'}`"
    sql = f"SELECT count(*) FROM {table} a JOIN {table} b ON a.id = b.id JOIN {table} c ON b.id = c.id"
    store = {"spark.dovetail.store.path": str(tmp_path / "store"), "spark.dovetail.history.enabled": "true"}
    with _sql.settings(spark, store):
        before = sum(history_thread_seconds(spark).values())
        spark.sql(sql).collect()
        assert len(dovetail.history(spark)) > 0
        assert sum(history_thread_seconds(spark).values()) > before
        phases = dovetail.explain(sql, spark).to_dict()["planning_ms"]
        assert 0.0 < phases["history"] < phases["total"]
