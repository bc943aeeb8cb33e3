package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._

/**
 * Whether a conjunct is never true for a row in which all columns of one relation are NULL. The reordering of outer
 * joins depends on this (CD-C), so the answer is true only if it is certain: for comparisons and IS NOT NULL of
 * expressions that are NULL if one of their columns is NULL.
 */
object NullRejection {

  def apply(conjunct: Expression, relationsOf: Expression => Vector[Int], relation: Int): Boolean = {
    def strict(e: Expression): Boolean = StrictExpression(e, a => relationsOf(a) == Vector(relation))
    conjunct match {
      case _: EqualNullSafe         => false
      case c: BinaryComparison      => strict(c.left) || strict(c.right)
      case Not(c: EqualNullSafe)    => false
      case Not(c: BinaryComparison) => strict(c.left) || strict(c.right)
      case IsNotNull(c)             => strict(c)
      case _                        => false
    }
  }
}
