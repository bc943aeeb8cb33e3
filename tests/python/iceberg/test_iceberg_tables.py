"""Iceberg tables in a Hadoop catalog: Dovetail uses Iceberg's statistics, analyze lets Iceberg count; same answers.

Needs the Maven coordinates of Iceberg for this Spark line in DOVETAIL_ICEBERG: `make test-iceberg` sets them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGES = os.environ.get("DOVETAIL_ICEBERG")

pytestmark = [
    pytest.mark.iceberg,
    pytest.mark.skipif(not PACKAGES, reason="DOVETAIL_ICEBERG has no coordinates: see `make test-iceberg`"),
]

SESSION = """
import sys
import warnings
from pyspark.sql import SparkSession
import dovetail
from frames import assert_rows

packages, home = sys.argv[1:3]
catalog = "spark.sql.catalog.ice"
builder = (
    SparkSession.builder.master("local[2]").appName("dovetail iceberg")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "1g")
    .config("spark.jars.packages", packages)
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", home + "/warehouse")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
    .config(catalog + ".type", "hadoop")
    .config(catalog + ".warehouse", home + "/ice")
)
spark = dovetail.enable(builder).getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def inputs(sql):
    groups = dovetail.explain(sql, spark).to_dict()["groups"]
    return {r["label"].split()[0]: r["rows"] for g in groups for r in g["relations"]}
"""

# All checks run in one process: starting a JVM takes longer than the checks.
CODE = (
    SESSION
    + """
spark.sql("CREATE TABLE ice.db.sales USING iceberg PARTITIONED BY (p) AS SELECT id AS sale, id % 100 AS item_id, "
          "id % 10 AS store_id, id % 4 AS p FROM range(20000)")
spark.sql("CREATE TABLE ice.db.item USING iceberg AS SELECT id AS item_id, id % 7 AS kind FROM range(100)")
spark.sql("CREATE TABLE ice.db.store USING iceberg AS SELECT id AS store_id, id % 3 AS region FROM range(10)")
query = ("SELECT count(*), sum(sale) FROM ice.db.item i JOIN ice.db.sales s ON s.item_id = i.item_id "
         "JOIN ice.db.store t ON s.store_id = t.store_id WHERE t.region = 1 AND s.p = 2")

# rows of what is left after Iceberg has pruned partitions
rows = inputs(query)
assert rows["sales"]["value"] == 5000 and rows["sales"]["source"] == "connector", rows
assert rows["item"]["value"] == 100 and rows["item"]["source"] == "connector", rows
same = dovetail.compare(spark, query)
assert same.same_answer, same
assert dovetail.explain(query, spark).reordered

table = dovetail.stats(spark, "ice.db.sales")
assert (table.rows, table.source) == (20000, "connector"), table
assert table["item_id"].distinct_count is None, table

# distinct values, which Iceberg counts itself and keeps in Puffin files, and reports where spark.sql.cbo.enabled
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always", dovetail.DovetailWarning)
    found = dovetail.analyze(spark, "ice.db.sales", ["item_id", "store_id"], progress=False)
assert [str(w.message) for w in told if "spark.sql.cbo.enabled is true" in str(w.message)], told
assert (found.rows, found.source, found["item_id"].distinct_count) == (20000, "connector", None), found
spark.conf.set("spark.sql.cbo.enabled", "true")
spark.sql("USE ice.db")
assert {t.table: t.rows for t in dovetail.analyze(spark, "ice.db", progress=False).tables} == {
    "sales": 20000, "item": 100, "store": 10}
done = spark.sql("DOVETAIL ANALYZE TABLE item COLUMNS (ITEM_ID)")
assert_rows(done.select("table", "rows", "columns", "notes"), ("ice.db.item", 100, 1, ""))
table = dovetail.stats(spark, "ice.db.sales")
assert (table["item_id"].distinct_count, table["item_id"].source) == (100, "connector"), table
assert table["sale"].distinct_count is not None, table
assert dovetail.compare(spark, query).same_answer
for clause in ("PARTITION (p = 1)", "GROUPS ((item_id, store_id))", "COLUMNS (nope)"):
    try:
        spark.sql(f"DOVETAIL ANALYZE TABLE ice.db.sales {clause}").collect()
    except Exception as error:
        assert "leave out PARTITION and GROUPS" in str(error) or "Columns: sale, item_id" in str(error), error
    else:
        raise AssertionError(clause)

# rows that are deleted by a file of their own, which Iceberg counts still
spark.sql("ALTER TABLE ice.db.sales SET TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')")
spark.sql("DELETE FROM ice.db.sales WHERE sale < 1000")
spark.sql("INSERT INTO ice.db.sales SELECT id, 1, 1, 2 FROM range(50)")
there = 19050
assert_rows(spark.sql("SELECT count(*) FROM ice.db.sales"), (there,))
rows = inputs(query.replace("AND s.p = 2", ""))["sales"]
assert rows["lower"] <= there <= rows["upper"], rows
assert dovetail.compare(spark, query).same_answer

# tables of metadata, and an empty one
metadata = "SELECT count(*) FROM ice.db.sales.snapshots a JOIN ice.db.sales.history b USING (snapshot_id)"
assert_rows(spark.sql(metadata).selectExpr("`count(1)` > 0"), (True,))
spark.sql("CREATE TABLE ice.db.empty (store_id BIGINT) USING iceberg")
empty = "SELECT count(*) FROM ice.db.empty e JOIN ice.db.store t USING (store_id) JOIN ice.db.sales s USING (store_id)"
assert_rows(spark.sql(empty), (0,))
assert dovetail.compare(spark, empty).same_answer
print("passed")
"""
)


def test_rows_columns_and_answers(run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    assert run_python(CODE, PACKAGES or "", str(tmp_path)).stdout.strip().endswith("passed")
