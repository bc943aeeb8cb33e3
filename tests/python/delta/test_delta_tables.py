"""Tables of Delta Lake: Dovetail uses footers and its own statistics; answers are the same with and without Dovetail.

Needs the Maven coordinates of Delta Lake for this Spark line in DOVETAIL_DELTA: `make test-delta` sets them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGES = os.environ.get("DOVETAIL_DELTA")

pytestmark = [
    pytest.mark.delta,
    pytest.mark.skipif(not PACKAGES, reason="DOVETAIL_DELTA has no coordinates: see `make test-delta`"),
]

# All checks run in one process: starting a JVM takes longer than the checks.
CODE = """
import sys
from pyspark.sql import SparkSession
import dovetail
from frames import assert_rows

packages, home = sys.argv[1:3]
builder = (
    SparkSession.builder.master("local[2]").appName("dovetail delta")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.memory", "1g")
    .config("spark.jars.packages", packages)
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.databricks.delta.snapshotPartitions", "2")
    .config("spark.sql.warehouse.dir", home + "/warehouse")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
)
spark = dovetail.enable(builder).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
# a listing is a Spark job: how long it takes is not what is tested
spark.conf.set("spark.dovetail.planning.maxMs", "60000")
spark.conf.set("spark.dovetail.footers.maxMs", "10000")


def inputs(sql):
    groups = dovetail.explain(sql, spark).to_dict()["groups"]
    return {r["label"].split()[0]: r["rows"] for g in groups for r in g["relations"]}


def assert_count(rows):
    assert_rows(spark.sql("SELECT count(*) FROM db.sales"), (rows,))


spark.sql("CREATE DATABASE db")
spark.sql("CREATE TABLE db.sales USING delta PARTITIONED BY (p) AS SELECT id AS sale, id % 100 AS item_id, "
          "id % 10 AS store_id, id % 4 AS p FROM range(20000)")
spark.sql("CREATE TABLE db.item USING delta AS SELECT id AS item_id, id % 7 AS kind FROM range(100)")
spark.sql("CREATE TABLE db.store USING delta AS SELECT id AS store_id, id % 3 AS region FROM range(10)")
query = ("SELECT count(*), sum(sale) FROM db.item i JOIN db.sales s ON s.item_id = i.item_id "
         "JOIN db.store t ON s.store_id = t.store_id WHERE t.region = 1 AND s.p = 2")
whole = query.replace(" AND s.p = 2", "")

# from footers, of the files that Delta has left after pruning
rows = inputs(query)
assert rows["sales"]["value"] == 5000 and rows["sales"]["source"] == "footer", rows
# predicates are tried on rows of the files, and these are all there are: nothing is deleted
tried = inputs(query.replace("s.p = 2", "(s.sale % 50) IN (7, 9)"))["sales"]
assert (tried["lower"], tried["value"], tried["upper"]) == (800, 800, 800), tried
assert dovetail.compare(spark, query).same_answer
assert dovetail.explain(query, spark).reordered

# one pass, by name, by path, and of the database
found = dovetail.analyze(spark, "db.sales", progress=False)
assert (found.rows, found.source, found["item_id"].distinct_count) == (20000, "dovetail", 100), found
assert {t.table: t.rows for t in dovetail.analyze(spark, "db", progress=False).tables} == {
    "sales": 20000, "item": 100, "store": 10}
sales = inputs(query)["sales"]
assert sales["value"] == 5000 and sales["lower"] == 0 and sales["upper"] <= 20000, sales
assert sales["source"] == "dovetail", sales
path = spark.sql("DESCRIBE DETAIL db.sales").head()["location"]
assert dovetail.stats(spark, f"delta.`{path}`").rows == 20000

# rows that a deletion vector takes out are in the files still: the files' rows are a bound
spark.sql("ALTER TABLE db.sales SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
spark.sql("DELETE FROM db.sales WHERE sale < 1000")
spark.sql("INSERT INTO db.sales SELECT id, 1, 1, 2 FROM range(50)")
assert_count(19050)
stale = inputs(whole)["sales"]
assert stale["lower"] <= 19050 <= (stale["upper"] or 1e30), stale
dovetail.analyze(spark, "db.sales", progress=False)
fresh = inputs(whole)["sales"]
assert fresh["lower"] <= 19050 <= fresh["upper"] == 20050, fresh
assert dovetail.compare(spark, whole).same_answer

# MERGE, time travel, OPTIMIZE
spark.sql("MERGE INTO db.sales s USING db.item i ON s.sale = i.item_id + 2000 "
          "WHEN MATCHED THEN UPDATE SET store_id = 3")
assert_count(19050)
assert dovetail.compare(spark, whole).same_answer
assert dovetail.compare(spark, whole.replace("db.sales s", "(SELECT * FROM db.sales VERSION AS OF 0) s")).same_answer
spark.sql("OPTIMIZE db.sales")
assert_count(19050)
assert dovetail.compare(spark, query).same_answer

# nothing collected: the log tells how many rows the deletion vectors take out, and predicates are still tried
spark.sql("CREATE TABLE db.bare USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS "
          "SELECT id AS sale, id % 100 AS item_id, id % 10 AS store_id FROM range(20000)")
spark.sql("DELETE FROM db.bare WHERE sale < 1000")
rows = inputs(whole.replace("db.sales", "db.bare"))["bare"]
assert rows["lower"] <= 19000 == rows["value"] == rows["upper"], rows
rows = inputs(query.replace("db.sales", "db.bare").replace("s.p = 2", "(s.sale % 50) IN (7, 9)"))["bare"]
assert 600 <= rows["value"] <= 1000, rows

# column mapping: the files have names of their own for the columns
spark.sql("CREATE TABLE db.mapped (`a b` BIGINT, store_id BIGINT) USING delta "
          "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
spark.sql("INSERT INTO db.mapped SELECT id, id % 10 FROM range(5000)")
mapped = "SELECT count(*) FROM db.mapped m JOIN db.store t USING (store_id) JOIN db.item i ON t.region = i.kind WHERE "
for predicate in ("m.`a b` < 50", "m.`a b` % 100 = 3"):
    rows = inputs(mapped + predicate)["mapped"]
    assert (rows["lower"], rows["value"], rows["upper"]) == (50, 50, 50), (predicate, rows)
    assert dovetail.compare(spark, mapped + predicate).same_answer

# columns that swap their names, and one that is added again, are not the columns of these names in the files
spark.sql("CREATE TABLE db.renamed (store_id BIGINT, x BIGINT, y BIGINT, z BIGINT) USING delta")
spark.sql("INSERT INTO db.renamed SELECT id % 10, id % 10, id + 1000, 1 FROM range(5000)")
spark.sql("ALTER TABLE db.renamed SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
for change in ("RENAME COLUMN x TO w", "RENAME COLUMN y TO x", "RENAME COLUMN w TO y", "DROP COLUMN z",
               "ADD COLUMN z BIGINT"):
    spark.sql(f"ALTER TABLE db.renamed {change}")
spark.sql("INSERT INTO db.renamed SELECT 1, 1000, 1, 1000 + id FROM range(100)")
spark.conf.set("spark.dovetail.sample.files", "false")
for predicate, least, most in (("m.x < 2000", 1000, 2000), ("(m.z > 50 OR m.z IS NULL)", 4000, 5100)):
    rows = inputs(mapped.replace("db.mapped", "db.renamed") + predicate)["renamed"]
    assert least <= rows["value"] <= most, (predicate, rows)
spark.conf.unset("spark.dovetail.sample.files")

# a query without joins that were changed, and an empty table
spark.sql("CREATE TABLE db.empty (store_id BIGINT) USING delta")
empty = "SELECT count(*) FROM db.empty e JOIN db.store t USING (store_id) JOIN db.sales s USING (store_id)"
assert_rows(spark.sql(empty), (0,))
assert dovetail.compare(spark, empty).same_answer

# planning starts no Spark job more than Delta's own: a version is listed once at most, analyzed or not
def planning_jobs(sql, on):
    spark.conf.set("spark.dovetail.enabled", str(on).lower())
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    spark.sql(sql)._jdf.queryExecution().executedPlan()
    return len(tracker.getJobIdsForGroup(None)) - before


store = spark.conf.get("spark.dovetail.store.path")
for analyzed in (False, True):
    spark.sql("INSERT INTO db.sales SELECT id, 1, 1, 2 FROM range(50)")
    spark.conf.set("spark.dovetail.store.path", store if analyzed else home + "/empty")
    if analyzed:
        dovetail.analyze(spark, "db", progress=False)
    # the first query of a version replays its log, with Dovetail and without
    planning_jobs(query, False)
    plain = planning_jobs(query, False)
    first = planning_jobs(query, True)
    later = [planning_jobs(query, True) for _ in range(3)]
    assert later == [plain] * 3, (analyzed, first, later, plain)
    # collected statistics are of all files, of which there is one listing for each of the three tables
    assert first <= plain + (3 if analyzed else 0), (analyzed, first, plain)
spark.conf.set("spark.dovetail.enabled", "true")
assert inputs(query)["sales"]["source"] == "dovetail"
print("passed")
"""


def test_rows_columns_and_answers(run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    done = run_python(CODE, PACKAGES or "", str(tmp_path))
    assert done.stdout.splitlines()[-1:] == ["passed"], done.stderr[-3000:]
