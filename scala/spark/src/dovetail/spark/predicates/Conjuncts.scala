package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{And, Expression}

/**
 * The conjuncts of a predicate, in order. Spark's PredicateHelper is a trait whose methods change between lines, so we
 * do not mix it in.
 */
object Conjuncts {
  def apply(e: Expression): Vector[Expression] = e match {
    case And(l, r) => apply(l) ++ apply(r)
    case other     => Vector(other)
  }
}
