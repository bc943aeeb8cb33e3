package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._

/**
 * Whether a conjunct is not true of a row in which all columns of one relation are NULL. The reordering of outer joins
 * depends on it (CD-C), so that only what is certain is said: comparisons of expressions that are NULL where a column
 * of theirs is.
 */
object NullRejection {

  def apply(conjunct: Expression, relationsOf: Expression => Vector[Int], relation: Int): Boolean = {
    def strict(e: Expression): Boolean = e match {
      case a: Attribute        => relationsOf(a) == Vector(relation)
      case c: Cast             => strict(c.child)
      case u: UnaryMinus       => strict(u.child)
      case b: BinaryArithmetic => strict(b.left) || strict(b.right)
      case _                   => false
    }
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
