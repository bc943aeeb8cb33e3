package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.Expression

/**
 * Number of nodes of an expression. Where columns are replaced by what they are computed from, it shows how large the
 * result gets before it is built: a chain of projections may double it with each step.
 */
object ExpressionSize {
  def apply(e: Expression): Long = { var nodes = 0L; e.foreach(_ => nodes += 1L); nodes }
}
