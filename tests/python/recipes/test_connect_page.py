"""The server of pip's pyspark, started as the page on Spark Connect says, serves one client after another."""

from __future__ import annotations

from pathlib import Path

import pytest
from environment import Environment, free_port
from page import Page, replaced

import dovetail

pytestmark = pytest.mark.recipes

PAGE = Page("connect.md")

# Continues the page's client.
USE = """
for name, rows in (("a", 20000), ("b", 100), ("c", 10)):
    frame = spark.range(rows).selectExpr("id", "id % 100 AS b", "id % 10 AS c")
    frame.write.mode("overwrite").parquet(f"{home}/{name}")
    spark.read.parquet(f"{home}/{name}").createOrReplaceTempView(name)
query = "SELECT count(*) FROM a JOIN b ON a.b = b.id JOIN c ON a.c = c.id WHERE c.b = 1"
print(dovetail.status(spark))
print("groups", [len(group["relations"]) for group in dovetail.explain(query, spark).to_dict()["groups"]])
print("analyzed", dovetail.analyze(spark, "a", progress=False).rows)
print("same", dovetail.compare(spark, query, warmup=False).same_answer)
spark.stop()
"""


def test_several_clients(tmp_path: Path) -> None:
    """Two clients, one after the other: classes that the server loads for one client must be there for the next one."""
    install, start = PAGE.block("bash", "SparkConnectServer").splitlines()
    installed, port = Environment.of(tmp_path / "made", install), free_port()
    client = replaced(PAGE.block("python", "remote("), {"sc://host:15002": f"sc://localhost:{port}"})
    (tmp_path / "client.py").write_text(f"{client}home = {str(tmp_path)!r}\n{USE}", encoding="utf-8")
    with installed.server(f"{start} --conf spark.connect.grpc.binding.port={port}", port, tmp_path):
        for _ in range(2):
            told = installed.shell("python client.py", tmp_path)
            assert told.startswith(f"Dovetail {dovetail.__version__} ")
            assert told.splitlines()[-3:] == ["groups [3]", "analyzed 20000", "same True"]
        explained = installed.shell(f'dovetail explain --remote sc://localhost:{port} "SELECT 1"', tmp_path)
        assert "nothing to reorder" in explained
