package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._

/**
 * Whether an expression is NULL for every row in which certain columns are NULL, whatever its other columns are.
 * Recognized by type: a column, and casts and arithmetic, which are NULL if one operand is.
 */
object StrictExpression {

  /** @param isNull whether a column is one of those that are NULL */
  def apply(e: Expression, isNull: Attribute => Boolean): Boolean = e match {
    case a: Attribute        => isNull(a)
    case c: Cast             => apply(c.child, isNull)
    case u: UnaryMinus       => apply(u.child, isNull)
    case b: BinaryArithmetic => apply(b.left, isNull) || apply(b.right, isNull)
    case _                   => false
  }
}
