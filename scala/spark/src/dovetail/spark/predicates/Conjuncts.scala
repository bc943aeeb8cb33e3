package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{And, Expression}

/**
 * The conjuncts of a predicate, in order. Spark's PredicateHelper is not mixed in, because the methods of this trait
 * change between Spark versions.
 */
object Conjuncts {
  def apply(e: Expression): Vector[Expression] = {
    val found                      = Vector.newBuilder[Expression]
    def add(part: Expression): Unit = part match {
      case And(l, r) => add(l); add(r)
      case other     => found += other; ()
    }
    add(e)
    found.result()
  }
}
