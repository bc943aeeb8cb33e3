"""Names: aliases, views, and tables that meet themselves."""

from pyspark.sql import SparkSession

import dovetail

spark = dovetail.enable(SparkSession.builder.master("local[2]")).getOrCreate()
for name in ("sales", "item", "store", "day"):
    spark.read.parquet(f"shop/{name}").createOrReplaceTempView(name)
spark.sql("CREATE TEMPORARY VIEW february AS SELECT * FROM day WHERE month = 2")
query = """SELECT {hint} count(*) FROM sales s1 JOIN sales s2 ON s1.id = s2.id JOIN item i ON s1.item = i.item
           JOIN february ON s2.day = february.day JOIN day ON s1.day = day.day WHERE i.brand = 3"""
print(dovetail.explain(query.format(hint=""), spark))
print(dovetail.explain(query.format(hint="/*+ DOVETAIL_ORDER('((((s1 i) s2) february) day)') */"), spark))
print(dovetail.explain(query.format(hint="/*+ DOVETAIL_ORDER('((((s1 i) s3) february) day)') */"), spark))
print(dovetail.explain(query.format(hint=""), spark, format="verbose"))
spark.sql(query.format(hint="")).collect()
print(dovetail.explain(dovetail.queries(spark)[-1].id, spark))
spark.sql("EXPLAIN FORMATTED " + query.format(hint="")).show(1, 0)
spark.sql(query.format(hint="")).explain()
