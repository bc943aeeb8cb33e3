"""The history of queries in two applications with one store, one of which is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import dovetail
from dovetail import _sql

# Runs a query, waits until it is in the file, and then runs other queries until it is killed.
OTHER = """
import sys
import dovetail
from pathlib import Path
from pyspark.sql import SparkSession

store, query = sys.argv[1], sys.argv[2]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.dovetail.store.path", store).config("spark.dovetail.history.enabled", "true")
spark = dovetail.enable(builder.config("spark.driver.memory", "600m")).getOrCreate()
i = 0
while True:
    spark.sql(query if i == 0 else f"{query} AND hb.k <> {i}").collect()
    dovetail.history(spark)
    if i == 0:
        while not Path(store, "history.json").exists():
            pass
        print("> counted", flush=True)
    i += 1
"""


def test_an_application_plans_with_what_another_counted_before_it_was_killed(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name, sql in {
        "hf": "SELECT id, id % 100 AS k1, id % 20 AS k2 FROM range(2000)",
        "ha": "SELECT id AS k FROM range(100)",
        "hb": "SELECT id AS k, id % 10 AS w FROM range(20)",
    }.items():
        spark.sql(sql).coalesce(1).write.parquet(str(tmp_path / name))
    f, a, b = (f"parquet.`{tmp_path / name}`" for name in ("hf", "ha", "hb"))
    query = f"SELECT hf.id FROM {f} hf JOIN {a} ha ON hf.k1 = ha.k JOIN {b} hb ON hf.k2 = hb.k WHERE hb.w = 3"
    store = str(tmp_path / "store")
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, store, query],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        start_new_session=True,
    )
    try:
        assert other.stdout is not None
        assert any(line.strip() == "> counted" for line in other.stdout)
        with _sql.settings(spark, {"spark.dovetail.store.path": store, "spark.dovetail.history.enabled": "true"}):
            rows = len(spark.sql(query).collect())

            def sources() -> set[str]:
                group = dovetail.explain(query, spark).to_dict()["groups"][0]
                return {relation["rows"]["source"] for relation in group["relations"]}

            def counted() -> list[int | None]:
                whole = [e for e in dovetail.history(spark) if e.kind == "counted" and len(e.relations) == 3]
                return [e.rows for e in whole]

            assert sources() == {"history"}
            assert rows in counted()
            os.killpg(other.pid, signal.SIGKILL)
            other.wait()
            assert sources() == {"history"}
            assert rows in counted()
            assert len(spark.sql(query).collect()) == rows
    finally:
        other.kill()
