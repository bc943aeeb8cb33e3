"""Iceberg: tables with what Iceberg reports, and analyzed."""

import os

from pyspark.sql import SparkSession

import dovetail

builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars.packages", os.environ["DOVETAIL_ICEBERG"])
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.ice.type", "hadoop")
    .config("spark.sql.catalog.ice.warehouse", "ice")
    .config("spark.sql.cbo.enabled", "true")
)
spark = dovetail.enable(builder).getOrCreate()
spark.sql("CREATE NAMESPACE ice.db")
for name in ("sales", "item", "store", "day"):
    spark.read.parquet(f"shop/{name}").coalesce(1).writeTo(f"ice.db.{name}").create()
query = """SELECT count(*) FROM ice.db.sales s JOIN ice.db.store t ON s.store = t.store
           JOIN ice.db.day d ON s.day = d.day JOIN ice.db.item i ON s.item = i.item WHERE i.brand = 3"""
print(dovetail.explain(query, spark))
print(dovetail.analyze(spark, "ice.db.item", progress=False))
print(dovetail.explain(query, spark))
print(dovetail.compare(spark, query))
