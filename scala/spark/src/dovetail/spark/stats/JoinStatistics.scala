package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.estimate._
import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Relation}
import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.dovetail.predicates.{Conditions, JoinPredicates}

/** Size of a join that the search does not order itself: an outer, semi or anti join, or one with a hint. Its inner size comes from the same model as all
  * others (a join graph of two relations); the rest are the formulas of [[JoinSize]].
  */
object JoinStatistics {

  def apply(join: Join, left: RelationProfile, right: RelationProfile): RelationProfile = {
    val profiles   = Vector(left, right)
    val predicates = JoinPredicates(Vector(join.left.outputSet, join.right.outputSet), join.condition.toSeq)
    val relations  = profiles.zipWithIndex.map { case (p, i) => Relation(i, "", p, p.width(p.columns.keys), broadcastable = false) }
    val classes    = predicates.equivalenceClasses(profiles)
    val graph      = JoinGraph(relations, classes, predicates.joinPredicates(profiles))
    val pairs    = new CardinalityModel(graph).estimate(Array(0, 1))
    val local    = predicates.local.map { case (i, e) => Filters.selectivity(if (i == 0) left else right, new Conditions()(e)) }.product
    val inner    = pairs.scaled(local)
    val (l, r)   = (left.rows.value, right.rows.value)
    val semi     = semiShare(classes, left, inner.value)
    def rows(value: Double, upper: Double) = Estimate.of(value, upper, inner.source)
    join.joinType match {
      case LeftSemi             => left.scaled(math.min(1.0, semi * local))
      case LeftAnti             => left.scaled(JoinSize.antiShare(semi * local))
      case ExistenceJoin(e)     => left.copy(columns = left.columns.updated(idOf(e.exprId), ColumnProfile(ndv = Some(2.0), domain = Some(2.0), nulls = Some(0.0), min = Some(0.0), max = Some(1.0), width = 1.0)))
      case LeftOuter            => joined(rows(JoinSize.leftOuter(inner.value, l), math.max(inner.upper, left.rows.upper)), left, padded(right, l * (1.0 - semi * local), JoinSize.leftOuter(inner.value, l)))
      case RightOuter           => joined(rows(JoinSize.leftOuter(inner.value, r), math.max(inner.upper, right.rows.upper)), left, right)
      case FullOuter            => joined(rows(JoinSize.fullOuter(inner.value, l, r), inner.upper + left.rows.upper + right.rows.upper), left, right)
      case _                    => joined(inner, left, right)
    }
  }

  private def idOf(e: ExprId): Long = e.id

  /** Share of left rows with a partner: the most selective key decides, for keys of one relation go together. */
  private def semiShare(classes: Vector[EquivalenceClass], left: RelationProfile, inner: Double): Double =
    classes
      .map(c => JoinSize.semiShare(c.members.find(_.relation == 0).get.column.domain, c.members.find(_.relation == 1).get.column))
      .reduceOption(_ min _)
      .getOrElse(math.min(1.0, math.max(inner / math.max(left.rows.value, 1.0), Assumptions.SemiJoin)))

  /** The side that is filled with NULLs where a row has no partner. */
  private def padded(side: RelationProfile, unmatched: Double, rows: Double): RelationProfile = {
    val share = math.max(0.0, math.min(1.0, unmatched / math.max(rows, 1.0)))
    side.copy(columns = side.columns.map { case (id, c) => id -> c.copy(nulls = Some(share + (1.0 - share) * (1.0 - c.nonNull))) })
  }

  private def joined(rows: Estimate, left: RelationProfile, right: RelationProfile): RelationProfile = {
    def thinned(side: RelationProfile) = side.columns.map { case (id, c) => id -> c.copy(ndv = c.ndv.map(Assumptions.distinctAfter(_, side.rows.value, math.min(rows.value, side.rows.value)))) }
    RelationProfile(rows, thinned(left) ++ thinned(right), math.max(rows.value, 1.0))
  }
}
