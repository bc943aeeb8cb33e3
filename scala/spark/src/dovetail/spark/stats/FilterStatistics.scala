package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{Assumptions, Condition, Estimate, Filters, ImpliedRange, RelationProfile, Sampling}
import org.apache.spark.sql.catalyst.expressions.{And, Attribute, AttributeSet, Expression, IsNotNull, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.predicates.{Conditions, Conjuncts, PrunedPredicate, Values}
import org.apache.spark.sql.dovetail.sample.{PlanSample, PlanSamples}
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Rows and columns that a filter keeps: the part of [[PlanStatistics]] for filters. Predicates are evaluated on sampled
 * rows; formulas (`Filters`) estimate those that cannot be, and the effect on the columns.
 *
 * @param of profile of any other plan
 */
final private[stats] class FilterStatistics(
    leaves: LeafStatistics,
    samples: PlanSamples,
    of: LogicalPlan => RelationProfile
) {

  def apply(f: Filter): RelationProfile = FirstRows(f) match {
    case Some(first) =>
      val rows = first(of(f.child), of(first.window.child))
      first.others.fold(rows)(rest => columnsOf(Filters(rows, new Conditions()(rest))))
    case None => passed(f)
  }

  /** Removes the predicates from a filter's condition that the size of the pruned partitions already accounts for. */
  private def uncounted(f: Filter): Expression = f.child match {
    case r: LogicalRelation =>
      val pruned = leaves.pruned(r)
      val others = Conjuncts(f.condition).filterNot(PrunedPredicate(_, pruned))
      others.reduceOption(And(_, _)).getOrElse(Literal.TrueLiteral)
    case _ => f.condition
  }

  /**
   * Drops the expressions that are not columns. They have negative ids, and another predicate may use the same id for
   * another expression.
   */
  private def columnsOf(kept: RelationProfile): RelationProfile =
    kept.copy(columns = kept.columns.filter { case (id, _) => id >= 0L })

  private def passed(f: Filter): RelationProfile = {
    val child     = of(f.child)
    val condition = uncounted(f)
    val predicate = new Conditions()(condition)
    val kept      = columnsOf(Filters(child, predicate))
    val left      = (samples(f.child), samples(f)) match {
      case (Some(before), Some(after)) => tried(child, condition, kept, before, after)
      case _ => kept.copy(columns = kept.columns.map { case (id, c) => id -> c.ofAtMost(kept.rows.value) })
    }
    ImpliedRange.applied(left, implied(f, condition, predicate, left.columns.contains))
  }

  /**
   * Ranges of the columns that a filter does not read: in the rows of the sample, or in the row groups left.
   *
   * @param visible ids of the columns that the plan sees. A look at all rows of a sample takes time
   */
  private def implied(
      f: Filter,
      condition: Expression,
      predicate: Condition,
      visible: Long => Boolean
  ): Map[Long, ImpliedRange] = {
    // Spark adds a check for NULL on each join key
    val read     = AttributeSet(Conjuncts(condition).filterNot(_.isInstanceOf[IsNotNull]).flatMap(_.references))
    val others   = f.output.filter(a => visible(a.exprId.id) && Values.ordered(a.dataType) && !read.contains(a))
    val ofRows   = samples(f).toSeq.flatMap(s => others.flatMap(a => s.implied(a).map(a -> _)))
    val ofGroups = f.child match {
      case leaf: LeafNode =>
        val columns = f.output.map(a => a.exprId.id -> a).toMap
        val ranges  = Filters.ranges(predicate).collect {
          case (id, ends) if columns.contains(id) => columns(id) -> ends
        }
        leaves.implied(leaf, ranges, others.filterNot(a => ofRows.exists(_._1 == a))).toSeq
      case _ => Nil
    }
    (ofRows ++ ofGroups).map { case (a, range) => a.exprId.id -> range }.toMap
  }

  /**
   * Estimates the rows of a filter by a sample. Formulas estimate the predicates that could not be evaluated on the
   * sample, and the effect on the columns.
   */
  private def tried(
      child: RelationProfile,
      condition: Expression,
      kept: RelationProfile,
      before: PlanSample,
      after: PlanSample
  ) = {
    val open                        = after.untried.filterNot(FilterStatistics.holds(_, child))
    val untried                     = open.diff(before.untried)
    def formula(c: Seq[Expression]) = FilterStatistics.formula(child, c)
    val (drawn, left)               = (before.kept.size.toDouble, after.kept.size.toDouble)
    val counted                     =
      if (after.complete) (if (drawn == 0.0) 0.0 else left / drawn)
      else before.left(after) match {
        case (share, sure) =>
          val evaluated = Conjuncts(condition).filterNot(untried.contains)
          val read      = Sampling.share(share * sure, sure, formula(evaluated))
          math.min(1.0, read + FilterStatistics.ofUnread(child, evaluated))
      }
    val rows =
      if (after.complete && open.isEmpty) Estimate.exactly(left, child.rows.source)
      else after.rowsAtMost.foldLeft(child.rows.scaled(counted * formula(untried)))(_ bounded _)
    FilterStatistics.left(kept, child, condition.references, rows)
  }
}

private[stats] object FilterStatistics {

  /**
   * The profile of a filter with another number of rows. The filter keeps distinct values of the columns that it does
   * not read as if it drew its rows at random.
   *
   * @param kept       the profile by formulas
   * @param child      the profile before the filter
   * @param restricted columns that the filter reads
   */
  def left(
      kept: RelationProfile,
      child: RelationProfile,
      restricted: AttributeSet,
      rows: Estimate
  ): RelationProfile = {
    val read    = restricted.iterator.map(_.exprId.id).toSet
    val columns = kept.columns.map { case (id, c) =>
      val ndv =
        if (read(id)) c.ndv
        else child.column(id).ndv.map(Assumptions.distinctAfter(_, child.rows.value, rows.value))
      id -> c.copy(ndv = ndv.map(math.min(_, math.max(rows.value, 1.0))), input = child.column(id).input)
        .ofAtLeast(rows.value).ofAtMost(rows.value)
    }
    kept.copy(rows = rows, columns = columns)
  }

  private def formula(child: RelationProfile, conjuncts: Seq[Expression]): Double =
    conjuncts.reduceOption(And(_, _)).fold(1.0)(e => Filters.selectivity(child, new Conditions()(e)))

  /**
   * Share of the rows that pass and were added after the statistics and the sample were collected, by formulas. The
   * sample knows no row of a day that was loaded later.
   */
  def ofUnread(child: RelationProfile, conjuncts: Seq[Expression]): Double =
    if (!conjuncts.exists(_.references.exists(a => child.column(a.exprId.id).unseen > 0.0))) 0.0
    else {
      val read = child.copy(columns = child.columns.map { case (id, c) => id -> c.copy(unseen = 0.0) })
      math.max(0.0, formula(child, conjuncts) - formula(read, conjuncts))
    }

  /**
   * Whether a condition is a check for NULL, which Spark adds for a join key, on a column without NULLs: it keeps all
   * rows, even if it cannot be evaluated on a sample.
   */
  def holds(condition: Expression, child: RelationProfile): Boolean = condition match {
    case IsNotNull(a: Attribute) => child.column(a.exprId.id).nulls.contains(0.0)
    case _                       => false
  }
}
