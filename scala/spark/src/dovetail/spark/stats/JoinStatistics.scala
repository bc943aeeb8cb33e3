package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Relation}
import dovetail.kernel.profile.{Assumptions, ColumnProfile, Estimate, Filters, RelationProfile}
import dovetail.kernel.size.{CardinalityModel, JoinSize}
import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, EqualTo, ExprId}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.dovetail.predicates.{Conditions, Conjuncts, JoinPredicates, Widths}
import org.apache.spark.sql.dovetail.sample.PlanSamples

/**
 * Size of a join that the search does not order itself: an outer, semi or anti join, or one with a hint. Its inner size comes from the same model as all
 * others (a join graph of two relations); the rest are the formulas of [[JoinSize]].
 */
object JoinStatistics {

  def apply(join: Join, left: RelationProfile, right: RelationProfile, samples: PlanSamples): RelationProfile = {
    val profiles = Vector(left, right)
    // EXCEPT and INTERSECT compare null-safely: for a size, that is an equality
    val conjuncts  = join.condition.toSeq.flatMap(Conjuncts(_))
    val conditions = conjuncts.map { case EqualNullSafe(l, r) => EqualTo(l, r); case other => other }
    val predicates = JoinPredicates.together(Vector(join.left.outputSet, join.right.outputSet), conditions)
    // a condition on one side only picks rows of an outer join's partners, which the samples know nothing of
    val sampled   = if (predicates.local.isEmpty) samples.relations(Vector(join.left, join.right), predicates) else Vector(None, None)
    val relations = profiles.zipWithIndex.map { case (p, i) => Relation(i, "", p, p.rowBytes(p.columns.keys), broadcastable = false, sampled(i)) }
    val classes   = predicates.equivalenceClasses(profiles)
    val graph     = JoinGraph(relations, classes, predicates.joinPredicates(profiles))
    val model     = new CardinalityModel(graph)
    val equal     = model.estimate(Array(0, 1))
    // NULLs that meet NULLs are no key's, and in no degree
    val nullsMeet = conjuncts.exists(_.isInstanceOf[EqualNullSafe])
    val pairs     = if (nullsMeet) Estimate.of(equal.value, left.rows.upper * right.rows.upper, equal.source) else equal
    val local     = predicates.local.map { case (i, e) => Filters.selectivity(if (i == 0) left else right, new Conditions()(e)) }.product
    val inner     = pairs.scaled(local)
    val (l, r)    = (left.rows.value, right.rows.value)
    val semi      = model.samples.partnered(0, 1).getOrElse(semiShare(classes, left, 0, inner.value))
    val semiOfR   = model.samples.partnered(1, 0).getOrElse(semiShare(classes, right, 1, inner.value))
    def rows(value: Double, upper: Double) = Estimate.of(value, upper, inner.source)
    def leftPadded(total: Double)          = padded(left, r * (1.0 - semiOfR * local), total)
    def rightPadded(total: Double)         = padded(right, l * (1.0 - semi * local), total)
    val (leftOuter, rightOuter)            = (JoinSize.leftOuter(inner.value, l), JoinSize.leftOuter(inner.value, r))
    val fullOuter                          = JoinSize.fullOuter(inner.value, l, r)
    join.joinType match {
      case LeftSemi         => among(left.scaled(math.min(1.0, semi * local)), classes)
      case LeftAnti         => left.scaled(JoinSize.antiShare(semi * local))
      case ExistenceJoin(e) => left.copy(columns =
          left.columns.updated(
            idOf(e.exprId),
            ColumnProfile(ndv = Some(2.0), domain = Some(2.0), nulls = Some(0.0), min = Some(0.0), max = Some(1.0), width = Widths.ofType(e.dataType))
          )
        )
      // a row without a partner comes on top of all the rows with one
      case LeftOuter    => joined(rows(leftOuter, inner.upper + left.rows.upper), left, rightPadded(leftOuter), classes)
      case RightOuter   => joined(rows(rightOuter, inner.upper + right.rows.upper), leftPadded(rightOuter), right, classes)
      case FullOuter    => joined(rows(fullOuter, inner.upper + left.rows.upper + right.rows.upper), leftPadded(fullOuter), rightPadded(fullOuter), classes)
      case _: InnerLike => joined(inner, left, right, classes)
      // LeftSingle, from Spark 4 on: a scalar subquery that may have one row for each row on the left, which is kept once
      case _ => joined(left.rows, left, rightPadded(l), Vector.empty)
    }
  }

  private def idOf(e: ExprId): Long = e.id

  /** Keys have only values that the right side has too. */
  private def among(left: RelationProfile, classes: Vector[EquivalenceClass]): RelationProfile = {
    val partners = for {
      c    <- classes
      mine <- c.members.filter(_.relation == 0)
      id   <- mine.columns
      most <- c.members.filter(_.relation == 1).flatMap(_.column.ndv)
    } yield id -> most
    partners.foldLeft(left) { case (p, (id, most)) =>
      val column = p.column(id)
      p.copy(columns = p.columns.updated(id, column.copy(ndv = column.ndv.map(math.min(_, most)), domain = column.domain.map(math.min(_, most)))))
    }
  }

  /** Share of the rows of `side`, which is relation `index` of the two, with a partner: the most selective key decides, for keys of one relation go together. */
  private def semiShare(classes: Vector[EquivalenceClass], side: RelationProfile, index: Int, inner: Double): Double =
    classes
      .map(c => JoinSize.semiShare(c.members.find(_.relation == index).get.column.domain, c.members.find(_.relation == 1 - index).get.column))
      .reduceOption(_ min _)
      .getOrElse(math.min(1.0, math.max(inner / math.max(side.rows.value, 1.0), Assumptions.SemiJoin)))

  /** The side that is filled with NULLs where a row has no partner. */
  private def padded(side: RelationProfile, unmatched: Double, rows: Double): RelationProfile = {
    val share = math.max(0.0, math.min(1.0, unmatched / math.max(rows, 1.0)))
    side.copy(columns = side.columns.map { case (id, c) => id -> c.copy(nulls = Some(share + (1.0 - share) * (1.0 - c.nonNull))) })
  }

  private def joined(rows: Estimate, left: RelationProfile, right: RelationProfile, classes: Vector[EquivalenceClass]): RelationProfile = {
    def thinned(side: RelationProfile, other: Int) = {
      val times = partnersAtMost(classes, other)
      side.columns.map { case (id, c) =>
        val ndv = c.ndv.map(Assumptions.distinctAfter(_, side.rows.value, math.min(rows.value, side.rows.value)))
        id -> c.multiplied.copy(ndv = ndv, width = c.width.times(times))
      }
    }
    RelationProfile(rows, thinned(left, other = 1) ++ thinned(right, other = 0), math.max(rows.value, 1.0))
  }

  /** Rows of one of the two relations that a row of the other meets at most; at least 1, for outer joins keep those without a partner. */
  private def partnersAtMost(classes: Vector[EquivalenceClass], relation: Int): Double =
    math.max(1.0, classes.flatMap(_.members.filter(_.relation == relation).flatMap(_.column.degree)).foldLeft(Estimate.Ceiling)(math.min))
}
