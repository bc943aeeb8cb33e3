"""Two workers on this machine (`local-cluster`): same answers, tasks on both executors, broadcasts cost for both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import dovetail

pytestmark = pytest.mark.primary

EXECUTORS = 2

TABLES = {
    "f": "SELECT /*+ REPARTITION(2) */ id AS sale, id % 100 AS a, id * 7 % 90 AS b, id * 3 % 20 AS c FROM range(20000)",
    "a": "SELECT id AS k, id % 10 AS w, concat('a', id) AS s FROM range(100)",
    "b": "SELECT id AS k, id % 10 AS w, concat('b', id) AS s FROM range(90)",
    "c": "SELECT id AS k, id % 10 AS w, concat('c', id) AS s FROM range(20)",
}

STAR = (
    "SELECT a.s, b.w, count(*) FROM f JOIN a ON f.a = a.k JOIN b ON f.b = b.k JOIN c ON f.c = c.k "
    "WHERE c.w = 1 GROUP BY 1, 2"
)
QUERIES = [
    STAR,
    STAR.replace("JOIN a", "LEFT JOIN a").replace("JOIN b", "LEFT JOIN b"),
    "SELECT count(*), sum(f.sale) FROM f JOIN a ON f.a = a.k JOIN b ON f.b = b.k "
    "WHERE EXISTS (SELECT 1 FROM c WHERE c.k = f.c AND c.w = 2) AND a.k NOT IN (SELECT k FROM b WHERE w = 3)",
]

CLUSTER = """
import json, os, sys
import dovetail
from chispa import assert_df_equality
from pyspark.sql import SparkSession

warehouse, create, queries, patient = sys.argv[1], *map(json.loads, sys.argv[2:])
builder = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.host", "localhost")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", warehouse)
    # three young JVMs have enough to compile
    .config("spark.executor.extraJavaOptions", os.environ["SPARK_SUBMIT_OPTS"])
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
    .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
    .config(map=patient)
)
spark = dovetail.enable(builder).getOrCreate()
for name, query in create.items():
    spark.sql(f"CREATE TABLE {name} USING parquet AS {query}")

def answers(on):
    spark.conf.set("spark.dovetail.enabled", on)
    return [(sorted(frame.collect(), key=str), frame.schema) for frame in map(spark.sql, queries)]

found = {"rows": []}
for plain, ours in zip(answers("false"), answers("true")):
    assert_df_equality(spark.createDataFrame(*ours), spark.createDataFrame(*plain))
    found["rows"].append(len(ours[0]))
found["groups"] = dovetail.explain(queries[0], spark).to_dict()["groups"]
listed = spark.sparkContext._jsc.sc().statusStore().executorList(True)
found["tasks"] = {listed.apply(i).id(): listed.apply(i).completedTasks() for i in range(listed.size())}
print("> " + json.dumps(found))
spark.stop()
"""


def broadcasts(groups: list[dict[str, Any]]) -> list[float]:
    """The costs of broadcasts in the written orders, join by join."""
    return [join["cost"]["broadcast"] for group in groups for join in group["before"]["joins"]]


def test_two_executors(spark: SparkSession, patient: dict[str, str], tmp_path: Path, run_python: Any) -> None:
    done = run_python(CLUSTER, str(tmp_path), *map(json.dumps, (TABLES, QUERIES, patient)))
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("> ")).removeprefix("> "))
    assert all(found["rows"]), found["rows"]
    assert any(group["status"] == "reordered" for group in found["groups"])
    # the driver runs no tasks in a cluster
    tasks = {executor: count for executor, count in found["tasks"].items() if executor != "driver"}
    assert len(tasks) == EXECUTORS
    assert all(tasks.values()), tasks

    # the same files in local mode, where the driver's copy of a broadcast is the only one
    one_process = spark.newSession()
    for name in TABLES:
        one_process.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    local = broadcasts(dovetail.explain(STAR, one_process).to_dict()["groups"])
    assert any(local)
    assert broadcasts(found["groups"]) == pytest.approx([(1 + EXECUTORS) * cost for cost in local])
