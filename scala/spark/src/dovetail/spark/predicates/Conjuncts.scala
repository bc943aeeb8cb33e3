package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{And, Expression}

/**
 * The conjuncts of a predicate, in order. Spark's PredicateHelper is not mixed in, because the methods of this trait
 * change between Spark versions.
 */
object Conjuncts {
  def apply(e: Expression): Vector[Expression] = e match {
    case And(l, r) => apply(l) ++ apply(r)
    case other     => Vector(other)
  }
}
