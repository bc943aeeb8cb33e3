"""Spark Connect: the same calls, without a JVM at hand."""

from pyspark.sql import SparkSession

import dovetail

spark = dovetail.enable(SparkSession.builder.remote("local[2]")).getOrCreate()
print(type(spark).__module__)
print(dovetail.status(spark))
for name in ("sales", "item", "store", "day"):
    spark.read.parquet(f"shop/{name}").createOrReplaceTempView(name)
sales, item, store = (spark.table(name) for name in ("sales", "item", "store"))
joined = sales.alias("s").join(item.where("brand = 3"), "item").join(store, "store")
print(dovetail.explain(joined))
print(dovetail.explain(joined.hint("DOVETAIL_ORDER", "((s store) item)")))
print(dovetail.compare(spark, joined))
print(dovetail.analyze(spark, "item", progress=False))
print(dovetail.pins.capture(spark, "nightly", joined))
dovetail.rows.tell(spark, 800, sql=joined)
print(dovetail.rows.all(spark))
