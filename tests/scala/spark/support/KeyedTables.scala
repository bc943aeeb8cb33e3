package org.apache.spark.sql.dovetail

/** Tables of the same columns that are joined by `k`, which repeats in those of more than 5,000 rows. */
trait KeyedTables extends SuiteTables { this: DovetailSuite =>

  protected def keyed(name: String, rows: Int): Unit = table(
    name,
    s"SELECT CAST(id % 5000 AS INT) k, CAST(id AS INT) i, CAST(pmod(hash(id), 500) AS INT) w, " +
      s"sha2(CAST(id AS STRING), 256) t FROM range($rows)"
  )
}
