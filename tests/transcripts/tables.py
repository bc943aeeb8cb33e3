"""The small tables that every transcript reads: a star, made in the directory `shop`."""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
for name, rows, columns in (
    ("sales", 50_000, "id, id % 1000 AS item, id % 50 AS store, id % 365 AS day, id % 97 AS price"),
    ("item", 1_000, "id AS item, concat('item ', id) AS name, id % 20 AS brand"),
    ("store", 50, "id AS store, id % 5 AS city"),
    ("day", 365, "id AS day, id % 12 AS month"),
):
    spark.sql(f"SELECT {columns} FROM range(0, {rows}, 1, 1)").write.parquet(f"{sys.argv[1]}/shop/{name}")
