package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.Expression

/** Collations came with Spark 4. */
private[predicates] object TotalCollation {
  def apply(e: Expression): Boolean = false
}
