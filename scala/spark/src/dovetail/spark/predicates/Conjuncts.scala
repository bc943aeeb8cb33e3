package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{And, Expression, Or}

/**
 * The conjuncts of a predicate, in order. Spark's PredicateHelper is not mixed in, because the methods of this trait
 * change between Spark versions.
 */
object Conjuncts {
  def apply(e: Expression): Vector[Expression] = Operands(e) { case And(l, r) => (l, r) }
}

/** The alternatives of a predicate: the operands of a chain of OR, in order. */
object Disjuncts {
  def apply(e: Expression): Vector[Expression] = Operands(e) { case Or(l, r) => (l, r) }
}

/** The operands of a chain of one operator, in order; programs make chains of thousands. */
private object Operands {
  def apply(e: Expression)(split: PartialFunction[Expression, (Expression, Expression)]): Vector[Expression] = {
    val found                       = Vector.newBuilder[Expression]
    def add(part: Expression): Unit = split.lift(part) match {
      case Some((l, r)) => add(l); add(r)
      case None         => found += part; ()
    }
    add(e)
    found.result()
  }
}
