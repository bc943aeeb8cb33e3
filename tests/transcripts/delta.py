"""Delta Lake: tables without statistics, analyzed, and changed."""

import os

from pyspark.sql import SparkSession

import dovetail

builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars.packages", os.environ["DOVETAIL_DELTA"])
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.databricks.delta.snapshotPartitions", "2")
)
spark = dovetail.enable(builder).getOrCreate()
# The names of Delta's files are random, and decide which rows of a larger table are in its sample.
spark.read.parquet("shop/sales").where("id < 20000").coalesce(1).write.format("delta").saveAsTable("sales")
for name in ("item", "store", "day"):
    spark.read.parquet(f"shop/{name}").coalesce(1).write.format("delta").saveAsTable(name)
query = """SELECT count(*) FROM sales s JOIN store t ON s.store = t.store JOIN day d ON s.day = d.day
           JOIN item i ON s.item = i.item WHERE i.brand = 3"""
print(dovetail.explain(query, spark))
print(dovetail.analyze(spark, "default", progress=False))
print(dovetail.explain(query, spark))
print(dovetail.compare(spark, query))
spark.sql("DELETE FROM sales WHERE id < 10000")
print(dovetail.stats(spark, "sales"))
print(dovetail.explain(query, spark))
