package org.apache.spark.sql.dovetail.predicates

import dovetail.kernel.estimate.{Assumptions, Filters, JoinSize, RelationProfile}
import org.apache.spark.sql.catalyst.expressions._

/** Share of row combinations that a predicate over several relations keeps.
  *
  * Parts that read one relation are estimated on that relation as it is after its own predicates; the rest is put together as if relations were
  * independent of each other. TPC-DS q13, q48 and q85 have such predicates: ORs of ANDs of conditions on several tables.
  */
final class PredicateSelectivity(profiles: Vector[RelationProfile], relationsOf: Expression => Vector[Int]) {

  def apply(e: Expression): Double = math.max(0.0, math.min(1.0, relationsOf(e) match {
    case Vector()         => 1.0
    case Vector(relation) => Filters.selectivity(profiles(relation), new Conditions()(e))
    case _                => spanning(e)
  }))

  private def spanning(e: Expression): Double = e match {
    case And(_, _) =>
      // conjuncts on one relation are taken together, so that ranges become intervals and correlated ones are damped
      val (single, several) = Conjuncts(e).partition(relationsOf(_).size == 1)
      val byRelation        = single.groupBy(c => relationsOf(c).head).toVector.sortBy(_._1).map(_._2.reduce(And(_, _)))
      (byRelation ++ several).map(apply).product
    case Or(l, r) => val (a, b) = (apply(l), apply(r)); a + b - a * b
    case Not(c)   => 1.0 - apply(c)
    case EqualTo(l, r) => equality(l, r)
    case EqualNullSafe(l, r) => equality(l, r)
    case _: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual => Assumptions.JoinInequality
    case _                                                                          => Assumptions.JoinOpaque
  }

  private def equality(l: Expression, r: Expression): Double =
    (distinct(l), distinct(r)) match {
      case (None, None) => Assumptions.JoinOpaque
      case (a, b)       => JoinSize.equality(a.getOrElse(1.0), b.getOrElse(1.0))
    }

  private def distinct(e: Expression): Option[Double] = relationsOf(e) match {
    case Vector(r) => new Conditions().column(e).flatMap(id => profiles(r).column(id).domain).orElse(Some(profiles(r).baseRows * Assumptions.GroupingFraction))
    case _         => None
  }

}
