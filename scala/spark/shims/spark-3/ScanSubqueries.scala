package org.apache.spark.sql.dovetail.plan

/** In Spark 3, a scan of files cannot compare its row groups with the result of a subquery. */
private[plan] object ScanSubqueries {
  val pushed: Boolean = false
}
