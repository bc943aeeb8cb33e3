"""Tables of PostgreSQL over JDBC: Dovetail uses the database's own statistics, and they change a join order.

Needs PostgreSQL's programs on this machine, and the Maven coordinates of its JDBC driver in DOVETAIL_POSTGRESQL:
`make test-postgresql` sets them.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dovetail_bench.postgresql_engine import DEBIAN, cluster

PACKAGES = os.environ.get("DOVETAIL_POSTGRESQL")

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not PACKAGES, reason="DOVETAIL_POSTGRESQL has no coordinates: see `make test-postgresql`"),
    pytest.mark.skipif(
        not shutil.which("initdb") and not list(DEBIAN.glob("*/bin/initdb")),
        reason="PostgreSQL is not installed: apt-get install postgresql",
    ),
]

TABLES = """
CREATE TABLE sales AS SELECT g AS sale, g % 1000 AS item_id, CASE WHEN g % 10 < 6 THEN 7 ELSE g % 50 END AS store_id,
  DATE '2024-01-01' + g % 366 AS day, CASE WHEN g % 4 = 0 THEN NULL ELSE g % 97 END AS promo
  FROM generate_series(0, 99999) g;
CREATE TABLE item AS SELECT g AS item_id, g % 200 AS kind, repeat('x', g % 20) AS name FROM generate_series(0, 999) g;
CREATE TABLE store AS SELECT g AS store_id, g % 5 AS region FROM generate_series(0, 49) g;
CREATE TABLE unseen WITH (autovacuum_enabled = false) AS SELECT g AS k FROM generate_series(0, 99) g;
CREATE TABLE parted (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (500);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (500) TO (1000);
INSERT INTO parted SELECT g % 1000, g FROM generate_series(0, 9999) g;
CREATE VIEW seen AS SELECT * FROM store;
CREATE ROLE reader LOGIN;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
ANALYZE sales; ANALYZE item; ANALYZE store; ANALYZE parted;
"""

# All checks run in one process: starting a JVM takes longer than the checks.
CODE = """
import json
import subprocess
import sys
import time

import dovetail
from pyspark.sql import SparkSession

packages, home, port, psql = sys.argv[1:5]
SECRET = "very-secret-word"
URL = f"jdbc:postgresql://127.0.0.1:{port}/postgres?password={SECRET}"
LOGIN = {"user": "reader", "driver": "org.postgresql.Driver"}
catalog = "spark.sql.catalog.pg"
builder = (
    SparkSession.builder.master("local[2]").appName("dovetail postgresql")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.memory", "1g")
    .config("spark.jars.packages", packages)
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", home + "/warehouse")
    .config(catalog, "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    .config(map={f"{catalog}.{key}": value for key, value in {"url": URL, **LOGIN}.items()})
)
spark = dovetail.enable(builder).getOrCreate()
spark.conf.set("spark.dovetail.planning.maxMs", "60000")
spark.conf.set("spark.dovetail.history.enabled", "false")


def run_in_database(sql, wait=True):
    started = subprocess.Popen([*json.loads(psql), "-c", sql], stdout=subprocess.DEVNULL)
    return started.wait() if wait else started


def read(table, name=None, **options):
    asked = {"url": URL, "dbtable": table, **LOGIN, **options}
    spark.read.format("jdbc").options(**asked).load().createOrReplaceTempView(name or table)


def explained(sql):
    found = dovetail.explain(sql, spark)
    assert SECRET not in str(found) and SECRET not in json.dumps(found.to_dict()), found
    return found


def rows(sql):
    return [r["rows"] for group in explained(sql).to_dict()["groups"] for r in group["relations"]]


def sources(sql):
    return sorted(r["source"] for r in rows(sql))


def largest(sql):
    return max(rows(sql), key=lambda r: r["value"])


def assert_near(found, truth, tolerance=0.25):
    assert abs(found["value"] - truth) <= tolerance * truth, (found, truth)
    assert found["source"] == "database", found
    # an estimate of the database bounds nothing
    assert found["upper"] is None or found["upper"] > 1e12, found


for table in ("sales", "item", "store", "unseen", "parted", "seen"):
    read(table)
query = ("SELECT count(*), sum(s.sale) FROM sales s JOIN store t ON s.store_id = t.store_id "
         "JOIN item i ON s.item_id = i.item_id WHERE {}")
selective = query.format("t.region = 1 AND i.kind = 3")

# an order of three tables changes by what the database knows
spark.conf.set("spark.dovetail.jdbc.statistics", "false")
before = explained(selective)
assert sources(selective) == ["assumed"] * 3
spark.conf.set("spark.dovetail.jdbc.statistics", "true")
after = explained(selective)
assert sources(selective) == ["database"] * 3, rows(selective)
assert after.reordered and not before.reordered, (before, after)
assert dovetail.compare(spark, selective).same_answer

# rows, frequent values, NULLs, dates, histograms
sizes = sorted(r["value"] for r in rows(selective))
assert sizes[0] < 20 and 5 < sizes[1] < 20 and 95000 < sizes[2] < 105000, sizes
for where, truth in (
    ("s.store_id = 7", 60800), ("s.promo IS NULL", 25000), ("s.day < DATE'2024-02-01'", 8500), ("s.sale > 90000", 10000)
):
    assert_near(largest(query.format(where)), truth)

# of whole tables only: no subquery, no predicates for partitions, no view, nothing that was never analyzed
read("(SELECT * FROM sales WHERE sale < 10) q", "part")
spark.read.jdbc(URL, "sales", predicates=["sale < 10", "sale BETWEEN 10 AND 20"], properties=LOGIN
                ).createOrReplaceTempView("slices")
for name, key in (("part", "item_id"), ("slices", "item_id"), ("unseen", "k"), ("seen", "store_id")):
    found = sources(f"SELECT count(*) FROM {name} x JOIN item i ON x.{key} = i.item_id "
                    "JOIN store t ON i.kind = t.store_id")
    assert found == ["assumed", "database", "database"], (name, found)
# names in quotes and with a schema; partitioned there, and read in partitions here
read('public."sales"', "quoted")
read("parted", partitionColumn="k", lowerBound="0", upperBound="1000", numPartitions="3")
found = rows("SELECT count(*) FROM quoted q JOIN parted p ON q.item_id = p.k JOIN store t ON q.store_id = t.store_id")
assert sorted(round(r["value"], -3) for r in found) == [0, 10000, 100000], found
assert all(r["source"] == "database" for r in found), found

# the V2 catalog: predicates are in the scan, and counted there
v2 = ("SELECT count(*) FROM pg.public.sales s JOIN pg.public.item i ON s.item_id = i.item_id "
      "JOIN pg.public.store t ON s.store_id = t.store_id WHERE s.store_id = 7 AND i.kind IN (3, 4)")
assert sources(v2) == ["database"] * 3, rows(v2)
assert_near(largest(v2), 60800)
assert dovetail.compare(spark, v2).same_answer

# an answer is kept: the database is not asked again
run_in_database("ALTER TABLE sales RENAME TO moved")
assert sources(selective) == ["database"] * 3
run_in_database("ALTER TABLE moved RENAME TO sales")

# a database that hangs does not stall a query that is planned, nor one that lets nobody in
spark.conf.set("spark.dovetail.planning.maxMs", "1000")
spark.sql("DOVETAIL CLEAR CACHES")
lock = run_in_database("BEGIN; LOCK TABLE pg_statistic IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(12)", wait=False)
time.sleep(2)
start = time.time()
assert sources(selective) == ["assumed"] * 3
assert time.time() - start < 9, time.time() - start
lock.wait()
time.sleep(3)
spark.conf.set("spark.dovetail.planning.maxMs", "60000")
run_in_database("ALTER ROLE reader NOLOGIN")
spark.sql("DOVETAIL CLEAR CACHES")
assert sources(selective) == ["assumed"] * 3
print("passed")
"""


def test_statistics_of_the_database(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with cluster(port) as (_, psql):
        subprocess.run(psql, input=TABLES, text=True, check=True, capture_output=True)
        done = run_python(CODE, PACKAGES or "", str(tmp_path), str(port), json.dumps(psql))
    assert done.stdout.splitlines()[-1:] == ["passed"], done.stderr[-3000:]
    assert "very-secret-word" not in done.stdout + done.stderr
