package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.Expression

/** Spark 3 has no collations: Spark 4 introduced them. */
private[predicates] object TotalCollation {
  def apply(e: Expression): Boolean = false
}
