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


# Statements that rewrite whole files: Iceberg removes the files that the scan of the statement has read, and writes
# their rows again. Most files have no row that matches.
REWRITES = (
    SESSION
    + """
spark.range(20).selectExpr("int(id) id", "int(id) v").createOrReplaceTempView("src")
spark.range(50).selectExpr("int(id) id", "int(id % 5) g").createOrReplaceTempView("dim")
spark.range(5).selectExpr("int(id) id", "int(id * 2) w").createOrReplaceTempView("dim2")
number = iter(range(100))
some = "id * 3 pk, v FROM src"
joined = "a.id * 3 pk, a.v + c.w v FROM src a JOIN dim b ON a.id = b.id JOIN dim2 c ON b.g = c.id"
merge = ("MERGE INTO {{table}} t USING (SELECT {}) s ON t.pk = s.pk WHEN MATCHED THEN UPDATE SET pay = s.v "
         "WHEN NOT MATCHED THEN INSERT (pk, pay, dep) VALUES (s.pk, s.v, 'hr')")
both = "pk IN (SELECT id * 3 FROM src) AND pk IN (SELECT id * 3 FROM dim)"
statements = [
    merge.format(some),
    merge.format(joined),
    merge.format("id * 3 pk, max(v) v FROM src GROUP BY id"),
    "UPDATE {table} SET pay = -1 WHERE pk IN (SELECT id * 3 FROM src)",
    f"UPDATE {{table}} SET pay = -1 WHERE {both}",
    f"DELETE FROM {{table}} WHERE {both}",
    "DELETE FROM {table} t WHERE EXISTS (SELECT 1 FROM src WHERE src.id * 3 = t.pk) "
    "AND pk NOT IN (SELECT id FROM dim2)",
]


def after(statement, mode, enabled):
    spark.conf.set("spark.dovetail.enabled", enabled)
    table = f"ice.db.rewritten{next(number)}"
    modes = ", ".join(f"'write.{of}.mode' = '{mode}'" for of in ("merge", "update", "delete"))
    spark.sql(f"CREATE TABLE {table} (pk INT, pay INT, dep STRING) USING iceberg PARTITIONED BY (dep) "
              f"TBLPROPERTIES ('format-version' = '2', {modes})")
    spark.sql(f"INSERT INTO {table} SELECT int(id), int(id * 37 % 1000), "
              "element_at(array('hr', 'it', 'ops'), int(id % 3) + 1) FROM range(45)")
    spark.sql(statement.format(table=table))
    return sorted(tuple(row) for row in spark.table(table).collect())


# Plain Spark with Iceberg 1.12 keeps a replaced file at times, so that its rows are there twice: rows are compared as
# sets. No file may vanish.
for threshold in ("-1", "10485760"):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    for statement in statements:
        expected = after(statement, "merge-on-read", "false")
        for mode in ("copy-on-write", "merge-on-read"):
            ours = after(statement, mode, "true")
            assert set(ours) == set(expected), (statement, mode, threshold, len(ours), len(expected))
spark.conf.set("spark.dovetail.enabled", "true")

# what one version has shown is no fact about another one
spark.conf.set("spark.dovetail.history.enabled", "true")
spark.sql("CREATE TABLE ice.db.versions USING iceberg AS SELECT id, id % 50 AS k, id % 20 AS c FROM range(1000)")
first = spark.sql("SELECT snapshot_id FROM ice.db.versions.snapshots").head()[0]
spark.sql("ALTER TABLE ice.db.versions CREATE BRANCH b")
spark.sql("INSERT INTO ice.db.versions SELECT id, 7, 1 FROM range(4000)")
spark.sql("CREATE TABLE ice.db.keys USING iceberg AS SELECT id AS k, id % 5 AS v FROM range(50)")
spark.sql("CREATE TABLE ice.db.kinds USING iceberg AS SELECT id AS c, id % 4 AS w FROM range(20)")
old = f"ice.db.versions VERSION AS OF {first}"


def over(versions, constant):
    return (f"SELECT count(*) FROM (SELECT * FROM {versions}) t JOIN ice.db.keys USING (k) "
            f"JOIN ice.db.kinds USING (c) WHERE t.k <> {constant}")


def sources(sql):
    groups = dovetail.explain(sql, spark).to_dict()["groups"]
    return {r["rows"]["source"] for g in groups for r in g["relations"] if r["rows"] and "versions" in r["label"]}


for learned, planned in (("ice.db.versions", old), (old, "ice.db.versions"), (old, "ice.db.versions.branch_b")):
    spark.sql("DOVETAIL FORGET HISTORY")
    spark.sql(over(learned, 3)).collect()
    assert spark.sql("SELECT * FROM dovetail_history()").count() > 0, learned
    assert "history" in sources(over(learned, 3)), learned
    for constant in (3, 4):
        assert "history" not in sources(over(planned, constant)), (learned, planned, constant)

# nor is what the branch has shown that the session's setting names
spark.sql("ALTER TABLE ice.db.versions SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
spark.sql("DOVETAIL FORGET HISTORY")
spark.conf.set("spark.wap.branch", "b")
spark.sql(over("ice.db.versions", 3)).collect()
spark.conf.unset("spark.wap.branch")
spark.sql("SELECT * FROM dovetail_history()").count()
for constant in (3, 4):
    assert "history" not in sources(over("ice.db.versions", constant)), constant
print("passed")
"""
)


def test_statements_that_rewrite_files_and_old_versions(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert run_python(REWRITES, PACKAGES or "", str(tmp_path)).stdout.strip().endswith("passed")
