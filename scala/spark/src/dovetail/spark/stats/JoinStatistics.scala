package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Relation}
import dovetail.kernel.profile.{Assumptions, ColumnProfile, Estimate, Filters, RelationProfile}
import dovetail.kernel.size.{CardinalityModel, JoinSize, PartnerShare}
import org.apache.spark.sql.catalyst.expressions.{Attribute, EqualNullSafe, EqualTo, Expression, IsNull, Or}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.dovetail.predicates.{Conditions, Conjuncts, JoinPredicates, PredicateSelectivity, Widths}
import org.apache.spark.sql.dovetail.sample.PlanSamples

/**
 * Size of a join that the search does not order: an outer, semi or anti join, or a join with a hint. The size of its
 * inner join comes from the same cardinality model as that of all other joins (a join graph of two relations). The
 * formulas of [[JoinSize]] give the rest.
 */
object JoinStatistics {

  def apply(join: Join, left: RelationProfile, right: RelationProfile, samples: PlanSamples): RelationProfile = {
    val pair = new JoinedPair(join, left, right, samples)
    join.joinType match {
      case LeftSemi         => semi(pair)
      case LeftAnti         => anti(pair)
      case ExistenceJoin(e) => existence(left, e)
      case LeftOuter        => leftOuter(pair)
      case RightOuter       => rightOuter(pair)
      case FullOuter        => fullOuter(pair)
      case _: InnerLike     => met(joined(pair.inner, left, right, pair.counting), pair.classes)
      case _                => single(pair)
    }
  }

  /** Rows of the left side with a partner. */
  private def semi(p: JoinedPair): RelationProfile = among(p.left.scaled(math.min(1.0, p.leftPartnered)), p.classes)

  /** Rows of the left side without a partner. */
  private def anti(p: JoinedPair): RelationProfile = p.left.scaled(p.leftAlone)

  /** All rows of the left side, with a flag. */
  private def existence(left: RelationProfile, flag: Attribute): RelationProfile = {
    val truth = ColumnProfile(
      ndv = Some(2.0),
      domain = Some(2.0),
      nulls = Some(0.0),
      min = Some(0.0),
      max = Some(1.0),
      width = Widths.ofType(flag.dataType)
    )
    left.copy(columns = left.columns.updated(flag.exprId.id, truth))
  }

  /** Rows without a partner come in addition to the rows of the inner join, so the upper bound is the sum of both. */
  private def leftOuter(p: JoinedPair): RelationProfile = {
    val rows = JoinSize.leftOuter(p.inner.value, p.left.rows.value)
    joined(p.rows(rows, p.left.rows.upper), p.left, p.rightPadded(rows), p.counting)
  }

  private def rightOuter(p: JoinedPair): RelationProfile = {
    val rows = JoinSize.leftOuter(p.inner.value, p.right.rows.value)
    joined(p.rows(rows, p.right.rows.upper), p.leftPadded(rows), p.right, p.counting)
  }

  private def fullOuter(p: JoinedPair): RelationProfile = {
    val rows = JoinSize.fullOuter(p.inner.value, p.left.rows.value, p.right.rows.value)
    joined(p.rows(rows, p.left.rows.upper + p.right.rows.upper), p.leftPadded(rows), p.rightPadded(rows), p.counting)
  }

  /**
   * LeftSingle, from Spark 4 on: a join with a scalar subquery, which may have at most one row for each left row. The
   * join keeps each left row exactly once.
   */
  private def single(p: JoinedPair): RelationProfile =
    joined(p.left.rows, p.left, p.rightPadded(p.left.rows.value), Vector.empty)

  /**
   * Limits the NDVs of the left keys to those of the right keys: the keys that are left have only values that the right
   * side has, too.
   */
  private def among(left: RelationProfile, classes: Vector[EquivalenceClass]): RelationProfile = {
    val partners = for {
      c    <- classes
      mine <- c.members.filter(_.relation == 0)
      id   <- mine.columns
      most <- c.members.filter(_.relation == 1).flatMap(_.column.ndv)
    } yield id -> most
    partners.foldLeft(left) { case (p, (id, most)) =>
      val column = p.column(id)
      p.copy(columns =
        p.columns.updated(
          id,
          column.copy(ndv = column.ndv.map(math.min(_, most)), domain = column.domain.map(math.min(_, most)))
        )
      )
    }
  }

  /** Limits the NDVs and domains of equal columns to the smallest one of them: they have the same values. */
  private def met(join: RelationProfile, classes: Vector[EquivalenceClass]): RelationProfile =
    classes.foldLeft(join) { (p, c) =>
      val ids                                        = c.members.flatMap(_.columns).distinct.filter(p.columns.contains)
      val equal                                      = ids.map(p.column) ++ c.members.map(_.column)
      def least(of: ColumnProfile => Option[Double]) = equal.flatMap(e => of(e)).reduceOption(_ min _)
      val (ndv, domain)                              = (least(_.ndv), least(_.domain))
      p.copy(columns = p.columns ++ ids.map { id =>
        val column = p.column(id)
        id -> column.copy(
          ndv = column.ndv.flatMap(n => ndv.map(math.min(n, _))),
          domain = column.domain.flatMap(d => domain.map(math.min(d, _)))
        )
      })
    }

  private def joined(
      rows: Estimate,
      left: RelationProfile,
      right: RelationProfile,
      classes: Vector[EquivalenceClass]
  ): RelationProfile = {
    // both sides may read the same input, each in its own rows
    val twice                                      = inputs(left).intersect(inputs(right))
    def thinned(side: RelationProfile, other: Int) = {
      val times = partnersAtMost(classes, other)
      side.columns.map { case (id, c) =>
        val ndv   = c.ndv.map(Assumptions.distinctAfter(_, side.rows.value, math.min(rows.value, side.rows.value)))
        val input = c.input.filterNot(i => twice(i.id))
        id -> c.multiplied.copy(ndv = ndv, width = c.width.times(times), input = input)
      }
    }
    RelationProfile(rows, thinned(left, other = 1) ++ thinned(right, other = 0), math.max(rows.value, 1.0))
  }

  private def inputs(p: RelationProfile): Set[Long] = p.columns.valuesIterator.flatMap(_.input).map(_.id).toSet

  /**
   * Largest number of rows of `relation` that match one row of the other relation; at least 1, because outer joins keep
   * rows without a partner.
   */
  private def partnersAtMost(classes: Vector[EquivalenceClass], relation: Int): Double =
    math.max(
      1.0,
      classes.flatMap(
        _.members.filter(_.relation == relation).flatMap(_.column.degree)
      ).foldLeft(Estimate.Ceiling)(math.min)
    )
}

/** Two joined inputs: the size of their inner join, and the share of each side's rows that have a partner. */
final private class JoinedPair(
    join: Join,
    val left: RelationProfile,
    val right: RelationProfile,
    samples: PlanSamples
) {
  private val profiles = Vector(left, right)

  // EXCEPT and INTERSECT compare null-safely, and NOT IN is null-aware; for the size, both count as equalities
  private val conjuncts  = join.condition.toSeq.flatMap(Conjuncts(_))
  private val conditions = conjuncts.map {
    case EqualNullSafe(l, r)                                              => EqualTo(l, r)
    case Or(equal: EqualTo, IsNull(again)) if again.semanticEquals(equal) => equal
    case other                                                            => other
  }
  private val nullsMeet  = conjuncts.exists(_.isInstanceOf[EqualNullSafe])
  private val predicates = JoinPredicates.together(Vector(join.left.outputSet, join.right.outputSet), conditions)

  // nobody reads the texts of this graph
  private val untold: Expression => String = _ => ""

  val classes: Vector[EquivalenceClass] = predicates.equivalenceClasses(profiles, untold)

  /** Classes whose degrees bound the partners of every row. A degree does not count NULLs, but `<=>` compares them. */
  val counting: Vector[EquivalenceClass] = if (nullsMeet) Vector.empty else classes

  private val graph = {
    // a condition on only one side restricts the partners in an outer join; the samples do not apply it
    val sampled =
      if (predicates.local.isEmpty) samples.relations(Vector(join.left, join.right), predicates) else Vector(None, None)
    val relations = profiles.zipWithIndex.map { case (p, i) =>
      Relation(i, "", p, p.rowBytes(p.columns.keys), broadcastable = false, sampled(i))
    }
    val selectivity = new PredicateSelectivity(
      profiles,
      predicates.classifier.relationsOf,
      predicates.members,
      (i, conditions, formula) =>
        samples(if (i == 0) join.left else join.right).flatMap(_.alternatives(conditions, formula))
    )
    JoinGraph(relations, classes, predicates.joinPredicates(untold, selectivity))
  }

  private val model = new CardinalityModel(graph)

  /** Share of the pairs that pass the conditions on one side. */
  private val local = predicates.local.map { case (i, e) =>
    Filters.selectivity(profiles(i), new Conditions()(e))
  }.product

  /** Rows of the inner join. */
  val inner: Estimate = {
    val equal = model.estimate(Array(0, 1))
    // a degree does not count NULLs, so it does not bound the pairs of NULL and NULL; only the cross product does
    val pairs =
      if (nullsMeet) Estimate.upTo(equal.value + ofNulls, left.rows.upper * right.rows.upper, equal.source) else equal
    pairs.scaled(local)
  }

  /** Pairs of NULLs by a single null-safe equality. Of several, nobody knows how often all are NULL together. */
  private def ofNulls: Double = (conjuncts, classes) match {
    case (Seq(_), Vector(c)) =>
      Vector(0, 1).flatMap(i => c.memberOf(i)).map(m =>
        (1.0 - m.column.nonNull) * profiles(m.relation).rows.value
      ).product
    case _ => 0.0
  }

  private lazy val leftCounted = model.samples.partnered(0, 1)

  /** Share of the left side's rows with a partner, counted on samples if possible. */
  lazy val leftPartnered: Double = partnered(0, 1, leftCounted)

  /** Share of the left side's rows without a partner. */
  lazy val leftAlone: Double =
    JoinSize.antiShare(leftPartnered, leftCounted.fold(Assumptions.AntiJoinFloor)(_.leastAlone))

  /** Share of the right side's rows with a partner. */
  lazy val rightPartnered: Double = partnered(1, 0, model.samples.partnered(1, 0))

  /** @param more largest number of rows in addition to those of the inner join */
  def rows(value: Double, more: Double): Estimate = Estimate.upTo(value, inner.upper + more, inner.source)

  /**
   * Profile of the left side among `total` rows of the join. Its columns are NULL for the right side's rows without a
   * partner.
   */
  def leftPadded(total: Double): RelationProfile = padded(left, right.rows.value * (1.0 - rightPartnered), total)

  def rightPadded(total: Double): RelationProfile = padded(right, left.rows.value * (1.0 - leftPartnered), total)

  /**
   * Share of one side's rows that have a partner. If the combinations of several keys were counted, it is at most the
   * mean number of partners.
   */
  private def partnered(side: Int, other: Int, counted: Option[PartnerShare]): Double = {
    val share = counted.fold(semiShare(side, other))(_.mixed(semiShare(side, other))) * local
    if (counted.isEmpty && isJointCounted) math.min(share, inner.value / math.max(profiles(side).rows.value, 1.0))
    else share
  }

  /**
   * Whether the combinations of several keys were counted on the side that has more of them. Those with NULLs are not
   * counted, so none may meet.
   */
  private def isJointCounted: Boolean = classes.size > 1 && {
    val counted       = Vector(0, 1).map(graph.groupNdv(_, classes.indices))
    val joint         = counted.zip(profiles).map { case (n, p) => n.getOrElse(math.max(p.baseRows, 1.0)) }
    val bothHaveNulls = classes.exists(c => Vector(0, 1).forall(i => c.memberOf(i).exists(_.column.nonNull < 1.0)))
    !(nullsMeet && bothHaveNulls) && counted(if (joint.head >= joint.last) 0 else 1).isDefined
  }

  /** By the keys. The most selective one decides, because the keys of one relation are taken to be correlated. */
  private def semiShare(side: Int, other: Int): Double =
    classes
      .map(c =>
        JoinSize.semiShare(
          c.memberOf(side).get.column  -> profiles(side),
          c.memberOf(other).get.column -> profiles(other)
        )
      )
      .reduceOption(_ min _)
      .getOrElse(math.min(1.0, math.max(inner.value / math.max(profiles(side).rows.value, 1.0), Assumptions.SemiJoin)))

  private def padded(side: RelationProfile, unmatched: Double, rows: Double): RelationProfile = {
    val share = math.max(0.0, math.min(1.0, unmatched / math.max(rows, 1.0)))
    side.copy(columns = side.columns.map { case (id, c) =>
      id -> c.copy(nulls = Some(share + (1.0 - share) * (1.0 - c.nonNull)))
    })
  }
}
