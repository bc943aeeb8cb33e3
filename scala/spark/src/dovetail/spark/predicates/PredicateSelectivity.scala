package org.apache.spark.sql.dovetail.predicates

import dovetail.kernel.profile.{Assumptions, Filters, RelationProfile}
import dovetail.kernel.size.JoinSize
import org.apache.spark.sql.catalyst.expressions._

/**
 * Share of row combinations that a predicate over several relations keeps.
 *
 * Parts that read one relation are estimated on that relation; the rest is put together as if relations were
 * independent of each other.
 *
 * An OR of ANDs over several tables (TPC-DS q13, q48, q85) implies a weaker OR on each of them, which Spark has pushed
 * down to it already (PushExtraPredicateThroughJoin): what those keep out must not be kept out twice, so the share is
 * the one under the condition that they hold.
 */
final class PredicateSelectivity(profiles: Vector[RelationProfile], relationsOf: Expression => Vector[Int]) {

  def apply(e: Expression): Double = {
    val implied = impliedLocally(e).map(share).product
    if (implied <= 0.0) share(e) else math.min(1.0, share(e) / implied)
  }

  private def share(e: Expression): Double = math.max(
    0.0,
    math.min(
      1.0,
      relationsOf(e) match {
        case Vector()         => 1.0
        case Vector(relation) => Filters.selectivity(profiles(relation), new Conditions()(e))
        case _                => spanning(e)
      }
    )
  )

  /** Per relation on which every alternative of an OR has a condition: the OR of these conditions. */
  private def impliedLocally(e: Expression): Vector[Expression] = {
    val alternatives = disjuncts(e).map(Conjuncts(_))
    if (alternatives.size < 2) Vector.empty
    else
      relationsOf(e).flatMap { r =>
        val local = alternatives.map(_.filter(relationsOf(_) == Vector(r)))
        if (local.forall(_.nonEmpty)) Some(local.map(_.reduce(And(_, _))).reduce(Or(_, _))) else None
      }
  }

  private def disjuncts(e: Expression): Vector[Expression] = e match {
    case Or(l, r) => disjuncts(l) ++ disjuncts(r)
    case other    => Vector(other)
  }

  private def spanning(e: Expression): Double = e match {
    case And(_, _) =>
      // conjuncts on one relation are taken together, so that ranges become intervals and correlated ones are damped
      val (single, several) = Conjuncts(e).partition(relationsOf(_).size == 1)
      val byRelation        = single.groupBy(c => relationsOf(c).head).toVector.sortBy(_._1).map(_._2.reduce(And(_, _)))
      (byRelation ++ several).map(share).product
    case Or(l, r)            => val (a, b) = (share(l), share(r)); a + b - a * b
    case Not(c)              => 1.0 - share(c)
    case EqualTo(l, r)       => equality(l, r)
    case EqualNullSafe(l, r) => equality(l, r)
    case _: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual => Assumptions.JoinInequality
    case _                                                                         => Assumptions.JoinOpaque
  }

  private def equality(l: Expression, r: Expression): Double =
    (distinct(l), distinct(r)) match {
      case (None, None) => Assumptions.JoinOpaque
      case (a, b)       => JoinSize.equality(a.getOrElse(1.0), b.getOrElse(1.0))
    }

  private def distinct(e: Expression): Option[Double] = relationsOf(e) match {
    case Vector(r) =>
      val column = new Conditions().column(e).flatMap(profiles(r).column(_).domain)
      column.orElse(DistinctValues(
        e,
        profiles(r).column
      )).orElse(Some(profiles(r).baseRows * Assumptions.GroupingFraction))
    case _ => None
  }

}
