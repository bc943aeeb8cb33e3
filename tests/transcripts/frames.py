"""DataFrames: everything that takes a query takes one."""

from pyspark.sql import SparkSession

import dovetail

spark = dovetail.enable(SparkSession.builder.master("local[2]")).getOrCreate()
print(dovetail.status(spark))
sales, item, store, day = (spark.read.parquet(f"shop/{name}") for name in ("sales", "item", "store", "day"))
joined = sales.alias("s").join(day.where("month = 2"), "day").join(item.where("brand = 3"), "item").join(store, "store")
print(dovetail.explain(joined))
print(dovetail.explain(joined.hint("DOVETAIL_OFF")))
print(dovetail.explain(joined.hint("DOVETAIL_ORDER", "(((s item) day) store)")))
print(dovetail.explain(joined, actual=True))
print(dovetail.compare(spark, joined))
print(dovetail.advise(spark, joined))
print(dovetail.stats(spark, "parquet.`shop/item`"))
print(dovetail.pins.capture(spark, "nightly", joined))
print(dovetail.pins.all(spark))
print(dovetail.rows.tell(spark, 800, sql=joined))
print(dovetail.rows.all(spark))
