"""Errors: what was wrong, what is allowed, what to do."""

from pyspark.sql import SparkSession

import dovetail


def refused(call):
    try:
        print("not refused:", call())
    except Exception as error:
        print(f"{type(error).__name__}: {error}")


refused(lambda: dovetail.enable(SparkSession.builder, reorder_mingain=0.2))
refused(lambda: dovetail.enable(SparkSession.builder.config("spark.dovetail.reorder.mingain", "0.2")))
spark = (
    dovetail.enable(SparkSession.builder.master("local[2]"))
    .config("spark.dovetail.store.path", "/proc/no")
    .getOrCreate()
)
for name in ("sales", "item", "store", "day"):
    spark.read.parquet(f"shop/{name}").createOrReplaceTempView(name)
refused(lambda: spark.sql("DOVETAIL ANALYSE TABLE sales"))
refused(lambda: dovetail.explain("SELECT * FROM nothing", spark))
refused(lambda: dovetail.explain("SELECT 1", spark, format="pdf"))
refused(lambda: dovetail.stats(spark, "sails"))
refused(lambda: dovetail.analyze(spark, "parquet.`shop/item`"))
refused(lambda: dovetail.Config(reorder_min_gain=0.2))
print(
    dovetail.explain(
        "SELECT /*+ BROADCAST(d), BROADCAST(i) */ count(*) FROM sales s JOIN day d ON s.day = d.day "
        "JOIN item i ON s.item = i.item",
        spark,
    )
)
