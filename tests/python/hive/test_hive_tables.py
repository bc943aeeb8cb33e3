"""Tables of a Hive metastore (embedded Derby): Dovetail reads and collects statistics, and answers are the same.

Spark itself reads Parquet and ORC tables of the metastore. Hive's classes, which come with pyspark, read a text table.
The test runs in a separate process, because a session cannot change its kind of catalog.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.hive

CODE = """
import sys
from pyspark.sql import SparkSession
import dovetail
from frames import assert_rows

home = sys.argv[1]
builder = (
    SparkSession.builder.master("local[2]").appName("dovetail hive").enableHiveSupport()
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.memory", "1g")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .config("spark.sql.warehouse.dir", home + "/warehouse")
    .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={home}/metastore;create=true")
    .config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
    .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
)
spark = dovetail.enable(builder).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
assert spark.conf.get("spark.sql.catalogImplementation") == "hive"


def report(sql):
    return dovetail.explain(sql, spark).to_dict()


def inputs(sql):
    return {r["label"].split()[0]: r["rows"] for g in report(sql)["groups"] for r in g["relations"]}


def missing(sql):
    return {m["table"].split(".")[-1]: m["statement"] for g in report(sql)["groups"] for m in g["missing_statistics"]}


def refused(call):
    try:
        call()
    except dovetail.DovetailError as error:
        return str(error)
    raise AssertionError("not refused")


# a partitioned Parquet table and an ORC table, which Spark reads by itself, and a text table, which it does not
spark.sql("CREATE DATABASE db")
spark.sql("CREATE TABLE db.sales (sale BIGINT, item_id BIGINT, store_id BIGINT) PARTITIONED BY (p INT) "
          "STORED AS PARQUET")
spark.sql("INSERT INTO db.sales PARTITION (p) SELECT id, id % 100, id % 10, CAST(id % 4 AS INT) FROM range(20000)")
spark.sql("CREATE TABLE db.store STORED AS ORC AS SELECT id AS store_id, id % 3 AS region FROM range(10)")
spark.sql("CREATE TABLE db.item (item_id BIGINT, kind BIGINT) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' "
          "STORED AS TEXTFILE")
spark.sql("INSERT INTO db.item SELECT id, id % 50 FROM range(100)")
query = ("SELECT count(*), sum(sale) FROM db.sales s JOIN db.store t ON s.store_id = t.store_id "
         "JOIN db.item i ON s.item_id = i.item_id WHERE i.kind = 7 AND s.p = 2")
whole = query.replace(" AND s.p = 2", "")


def same(text):
    found = dovetail.compare(spark, text, warmup=False)
    assert found.same_answer, found


# nothing analyzed: footers of what Spark reads, the size of the text table
rows = inputs(query)
assert (rows["sales"]["value"], rows["sales"]["source"]) == (5000, "footer"), rows
assert (rows["store"]["value"], rows["store"]["source"]) == (10, "footer"), rows
assert rows["item"]["source"] in ("size", "assumed"), rows
assert missing(query)["item"] == (
    "ANALYZE TABLE spark_catalog.db.item COMPUTE STATISTICS FOR COLUMNS item_id, kind"), missing(query)
same(query)
same(query.replace("JOIN db.item", "LEFT JOIN db.item"))
advice = dovetail.advise(spark, query)
(other,) = advice.refused
assert (other.table.split(".")[-1], other.statement) == ("item", missing(query)["item"]), other
assert f"    {other.statement};" in str(advice).splitlines(), advice

# what Hive knows of its own table
spark.sql("ALTER TABLE db.item SET TBLPROPERTIES ('numRows' = '123', 'rawDataSize' = '1000', 'totalSize' = '1100')")
told = inputs("SELECT 1 FROM db.sales s JOIN db.store t ON s.store_id = t.store_id JOIN db.item i USING (item_id)")
assert (told["item"]["value"], told["item"]["source"]) == (123, "catalog"), told

# one pass of Dovetail's for the tables that Spark reads; the other one is refused, with what to do
found = dovetail.analyze(spark, "db.sales", progress=False)
assert (found.rows, found.source, found["item_id"].distinct_count) == (20000, "dovetail", 100), found
assert dovetail.analyze(spark, "db.store", progress=False).rows == 10
why = refused(lambda: dovetail.analyze(spark, "db.item", progress=False))
assert "mode='spark'" in why and "Hive table" in why, why
rows = inputs(query)
assert (rows["sales"]["value"], rows["sales"]["source"]) == (5000, "dovetail"), rows

# Spark's ANALYZE, for all of them
for table, count in (("item", 100), ("sales", 20000), ("store", 10)):
    found = dovetail.analyze(spark, f"db.{table}", "all", mode="spark", progress=False)
    assert found.rows == count, found
one = dovetail.analyze(spark, "db.sales", mode="spark", partitions={"p": 2}, progress=False)
rows = inputs(query)
assert round(rows["item"]["value"]) == 2 and rows["item"]["source"] == "catalog", rows
assert dovetail.stats(spark, "db.item").rows == 100
assert 45 <= dovetail.stats(spark, "db.item")["kind"].distinct_count <= 55
assert "item" not in missing(query), missing(query)

# they are used: the join that leaves least comes first, though it is written last
chosen = report(query)["groups"][0]
assert chosen["status"] == "reordered" and "(s i)" in chosen["after"]["order"], chosen
same(query)

# new rows in a new partition, by Hive's way of naming them
spark.sql("INSERT INTO db.sales PARTITION (p = 9) SELECT id, id % 100, 3 FROM range(100)")
assert_rows(spark.sql("SELECT count(*) FROM db.sales"), (20100,))
assert dovetail.analyze(spark, "db.sales", progress=False).rows == 20100
same(whole)

# Parquet through Hive's classes
spark.conf.set("spark.sql.hive.convertMetastoreParquet", "false")
same(whole)
assert inputs(whole)["sales"]["value"] > 0
print("passed")
"""


def test_statistics_orders_and_answers(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = run_python(CODE, str(tmp_path))
    assert done.stdout.splitlines()[-1:] == ["passed"], done.stderr[-3000:]
