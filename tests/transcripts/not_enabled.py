"""A session without Dovetail: what each call says."""

from pyspark.sql import SparkSession

import dovetail

spark = SparkSession.builder.master("local[2]").getOrCreate()
for call in (lambda: dovetail.status(spark), lambda: dovetail.explain("SELECT 1", spark)):
    try:
        print("not refused:", call())
    except dovetail.DovetailError as error:
        print(f"{type(error).__name__}: {error}")
print(dovetail.attach(spark))
print(dovetail.status(spark))
