package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{And, Expression, Or}

/**
 * The conjuncts of a predicate, in order. Spark's PredicateHelper is not mixed in, because the methods of this trait
 * change between Spark versions.
 */
object Conjuncts {
  def apply(e: Expression): Vector[Expression] = Operands(e) { case And(l, r) => (l, r) }

  /** A predicate with these conjuncts, at least one. */
  def together(es: Seq[Expression]): Expression = Operands.together(es)(And(_, _))
}

/** The alternatives of a predicate: the operands of a chain of OR, in order. */
object Disjuncts {
  def apply(e: Expression): Vector[Expression] = Operands(e) { case Or(l, r) => (l, r) }

  /** A predicate with these alternatives, at least one. */
  def together(es: Seq[Expression]): Expression = Operands.together(es)(Or(_, _))
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

  /**
   * A chain of the operands: for a few from left to right, as people write it, and for many a balanced tree of such
   * chains, as Spark's parser makes it. Spark's recursions over a chain of thousands overflow the stack, and the text
   * of such a chain takes time quadratic in its length.
   */
  def together(es: Seq[Expression])(join: (Expression, Expression) => Expression): Expression =
    if (es.size <= MostInRow) es.reduceLeft(join)
    else {
      val (left, right) = es.splitAt(es.size / 2)
      join(together(left)(join), together(right)(join))
    }

  /** Most operands from left to right: a person writes fewer, and the stack has room for many times this depth. */
  private val MostInRow = 100
}
