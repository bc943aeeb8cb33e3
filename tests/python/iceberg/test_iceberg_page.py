"""The example of the page on Iceberg gives a session in which Dovetail plans joins of its tables."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGES = os.environ.get("DOVETAIL_ICEBERG")

pytestmark = [
    pytest.mark.iceberg,
    pytest.mark.skipif(not PACKAGES, reason="DOVETAIL_ICEBERG has no coordinates: see `make test-iceberg`"),
]

DATABASE = "ice.db"

PAGE = Path(__file__).resolve().parents[3] / "docs" / "install" / "iceberg.md"

QUERIES = """
for name, rows in (("sales", 20000), ("item", 100), ("store", 10)):
    spark.sql(f"CREATE TABLE {database}.{name} USING iceberg AS SELECT id, id % 100 AS item_id, "
              f"id % 10 AS store_id, id % 3 AS g FROM range({rows})")
query = (f"SELECT count(*) FROM {database}.item i JOIN {database}.sales s ON s.item_id = i.id "
         f"JOIN {database}.store t ON s.store_id = t.id WHERE t.g = 1")
groups = dovetail.explain(query, spark).to_dict()["groups"]
assert [len(group["relations"]) for group in groups] == [3], groups
assert dovetail.compare(spark, query).same_answer
# Iceberg looks for its own interface on the session's parser
spark.sql(f"CREATE TABLE {database}.points USING iceberg AS SELECT id AS a, id % 7 AS b FROM range(100)")
spark.sql("CALL ice.system.rewrite_data_files(table => 'db.points', strategy => 'sort', "
          "sort_order => 'zorder(a, b)', options => map('rewrite-all', 'true'))").collect()
assert spark.table(f"{database}.points").count() == 100
print("passed")
"""


def test_the_example_runs(run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) == 1
    # the packages for the tested Spark line, and directories of this test
    here = f'builder.master("local[2]").config("spark.sql.warehouse.dir", "{tmp_path}/warehouse")'
    example = re.sub(r'("spark.jars.packages", )"[^"]*"', rf'\1"{PACKAGES}"', examples[0])
    example = example.replace("SparkSession.builder", f"SparkSession.{here}").replace("/data/", f"{tmp_path}/")
    done = run_python(f'{example}\nspark.sql("CREATE DATABASE {DATABASE}")\ndatabase = "{DATABASE}"\n{QUERIES}')
    assert done.stdout.splitlines()[-1:] == ["passed"], done.stderr[-3000:]
