package org.apache.spark.sql.dovetail.predicates

import dovetail.kernel.profile.ColumnProfile
import org.apache.spark.sql.catalyst.expressions._

/**
 * Recognizes two comparisons between two relations that are one condition on an interval: a value lies in an interval
 * of the other relation (`s <= x AND x <= e`), or two intervals overlap (`a.s <= b.e AND b.s <= a.e`).
 *
 * If the begin of an interval is never behind its end, a pair of rows that fails one of the two comparisons satisfies
 * the other one. So the shares of the pairs that they drop add up. As independent conditions, they would keep about a
 * third of all pairs however short the intervals are.
 */
final private class Intervals(relationsOf: Expression => Vector[Int], column: Expression => Option[ColumnProfile]) {

  /** Whether the two conjuncts are such a condition. */
  def together(one: Expression, other: Expression): Boolean = (one, other) match {
    case (Inequality(large, small), Inequality(large2, small2)) =>
      val (a, b) = (relationsOf(large), relationsOf(small))
      a.size == 1 && b.size == 1 && a != b && relationsOf(large2) == b && relationsOf(small2) == a &&
      ordered(small, large2) && ordered(small2, large)
    case _ => false
  }

  /**
   * Whether the first expression of a relation is never larger than the second one, as far as their ranges tell. Two
   * columns of the same range, such as ratings, are no interval.
   */
  private def ordered(small: Expression, large: Expression): Boolean = small.semanticEquals(large) || (for {
    s <- column(small); l <- column(large); smallMin <- s.min; largeMin <- l.min; smallMax <- s.max; largeMax <- l.max
  } yield {
    val apart = smallMin < largeMin || smallMax < largeMax || small.references == large.references
    smallMin <= largeMin && smallMax <= largeMax && apart
  }).getOrElse(false)
}

/** A comparison, with its larger side and its smaller side. */
private[dovetail] object Inequality {
  def unapply(e: Expression): Option[(Expression, Expression)] = e match {
    case GreaterThan(l, r)        => Some((l, r))
    case GreaterThanOrEqual(l, r) => Some((l, r))
    case LessThan(l, r)           => Some((r, l))
    case LessThanOrEqual(l, r)    => Some((r, l))
    case _                        => None
  }
}
