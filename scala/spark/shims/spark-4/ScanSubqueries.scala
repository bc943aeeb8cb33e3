package org.apache.spark.sql.dovetail.plan

/** From Spark 4 on, a scan of files compares its row groups with the results of scalar subqueries (SPARK-43402). */
private[plan] object ScanSubqueries {
  val pushed: Boolean = true
}
