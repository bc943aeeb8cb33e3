package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.Expression

/**
 * Whether an expression may be evaluated at another place of the plan than the one it was written at, on rows that it
 * might not have seen there.
 *
 * Only if it gives a value for every row: deterministic, and of nothing but nodes that are known to be total
 * ([[TotalExpression]]). Under ANSI semantics `a.x / b.y > 2` and `CAST(a.name AS INT) = b.id` are errors for some
 * rows, and the written order may be what keeps such rows away. What is not known stays: user functions, Python (still
 * inside the expression here, and extracted only after our rule), correlated subqueries, and new functions of Spark.
 */
object Movable {
  def apply(e: Expression): Boolean = e.deterministic && !e.exists(node => !TotalExpression(node))
}
