package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.EarlyGrouping
import dovetail.kernel.profile.RelationProfile
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.JOIN
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.grouping.EarlyPlace
import org.apache.spark.sql.dovetail.leaf.{CanonicalForms, LeafNames, SparkBroadcast}
import org.apache.spark.sql.dovetail.report.{EarlyMark, GroupReport, ReportNumbers, Trace}
import org.apache.spark.sql.dovetail.stats.PlanStatistics

/**
 * Eager aggregation: groups rows below joins if they form only few groups there, and merges the groups above the joins
 * (Yan and Larson, VLDB 1995; Eich and Moerkotte, ICDE 2015). The joins then process groups instead of rows, and
 * ROLLUP, CUBE and GROUPING SETS copy groups.
 *
 * Runs after the joins are ordered: the search does not take early groupings into account. A place is used only if the
 * NDV of each of its keys is known. The estimated number of groups is the product of these NDVs, which is an upper
 * bound whatever the correlation of the keys. The broadcasts that the search has chosen stay: a broadcast input is not
 * grouped, and a grouped input does not become a broadcast by Spark's own size estimate.
 *
 * @param isOff  whether a join group is left to Spark
 * @param merges whether Spark may compute parts of the query together
 */
final class EarlyGroupings(
    planner: Planner,
    statistics: PlanStatistics,
    isOff: JoinGroup => Boolean,
    merges: => Boolean
) {
  import EarlyGroupings._

  def apply(plan: LogicalPlan): LogicalPlan =
    if (!planner.groupsEarly || !plan.exists(isCandidate)) plan
    else Trace.timed("rebuild")(below(plan, plan, inFigure = false))

  /** @param inFigure whether the plan is below a grouping without keys that is not the whole query */
  private def below(plan: LogicalPlan, whole: LogicalPlan, inFigure: Boolean): LogicalPlan = plan match {
    case RowPlaces(_) => plan
    case _            =>
      val figure = inFigure || (isFigure(plan) && (plan ne whole))
      plan.mapChildren(below(_, whole, figure)) match {
        case a: Aggregate if isCandidate(a) && !(figure && mayMerge(whole)) =>
          PlanningTime.orNone(best(a).filterNot(p => isShared(p._1.input, a, whole))).flatten
            .fold[LogicalPlan](a)(taken(a, _))
        case other => other
      }
  }

  /**
   * Whether the query has joins several times that other groupings, or none, are above of. Spark computes them once and
   * reuses their exchange, but not below early groupings with other functions.
   */
  private def isShared(input: LogicalPlan, of: Aggregate, whole: LogicalPlan): Boolean = {
    def copies(of: LogicalPlan) = whole.collect { case p if CanonicalForms.same(of, p) => p }.size
    !planner.groupsAlways && planner.reusesExchanges && input.exists(_.isInstanceOf[Join]) &&
    copies(input) > math.max(1, copies(of))
  }

  /**
   * Whether Spark may compute a grouping without keys, and the groupings below it, together with those of other scalar
   * subqueries or, from Spark 4.2 on, of other parts of the query. It does so only if their plans are the same but for
   * the functions, and the columns of early groupings differ by these.
   */
  private def mayMerge(whole: LogicalPlan): Boolean =
    !planner.groupsAlways && (whole.isInstanceOf[Subquery] || merges)

  private def taken(of: Aggregate, chosen: (EarlyPlace, Double)): LogicalPlan = {
    val (place, groups) = chosen
    Trace.record(_ => GroupReport.remark(note(place, groups)))
    EarlyMark.remember(place.early)
    place.grouped(of).mapChildren(settled)
  }

  private def best(of: Aggregate): Option[(EarlyPlace, Double)] = {
    lazy val left = joins(of.child).flatMap(JoinGroup.unapply(_)).exists(isOff)
    val large     = planner.groupsAlways || of.collectLeaves().exists(statistics(_).rows.value >= LeastRows)
    // adaptive execution leaves out a join with no rows on one side, and learns earlier that an early grouping has none
    val places = if (!large || left || RowPlaces.mustBeRead(of.child)) Vector.empty
    else
      EarlyPlace(of, key = a => RereadInput.isKey(a.dataType), guarded).filter(p =>
        (planner.groupsAlways || (mayBeFew(p) && !p.sides.exists(s => broadcasts(s.join, s.side)))) &&
          p.input.deterministic && !InputFault.mayFail(p.input) && !p.sides.exists(sparesRows)
      )
    if (planner.groupsAlways)
      places.sortBy(p => (-p.depth, -statistics(p.input).rows.value)).headOption.map(p =>
        p -> statistics(p.early).rows.value
      )
    else {
      val priced = for (p <- places; groups <- groupsOf(p)) yield p -> work(of, p, groups)
      priced.filter { case (_, w) =>
        w.rows >= LeastRows && w.gain(planner.constants) >= math.max(planner.minGain, LeastGain)
      }.sortBy(-_._2.saving(planner.constants)).headOption.map { case (p, w) => p -> w.groups }
    }
  }

  /**
   * Whether the join of a side may stop before the last row of its other side, and one of these rows may fail. Adaptive
   * execution may broadcast few groups, and the other side is then read to its end.
   */
  private def sparesRows(s: EarlyPlace.Side): Boolean = SortedRows(s.join, s.other) && InputFault.mayFail(s.other)

  /**
   * Whether the NDVs of the keys in the inputs of the joins allow for fewer groups than the largest table has rows.
   * This is checked first, because few places pass, and all other checks take longer. Filters of the inputs count: in
   * TPC-DS, a year that the query fixes is one value of two hundred.
   */
  private def mayBeFew(place: EarlyPlace): Boolean = {
    val inputs = joined(place.input).map(statistics(_))
    val values = place.keys.flatMap(k => inputs.flatMap(_.columns.get(k.exprId.id)).flatMap(_.ndv))
    values.product <= place.input.collectLeaves().map(statistics(_).rows.value).max * (1.0 - LeastGain)
  }

  /**
   * Upper bound of the number of groups: the product of the NDVs of the keys, at most the number of rows. None if an
   * NDV is not known.
   */
  private def groupsOf(place: EarlyPlace): Option[Double] = {
    val profile = statistics(place.input)
    val values  = place.keys.map(k => profile.column(k.exprId.id).ndv)
    if (values.forall(_.isDefined))
      Some(values.flatten.foldLeft(1.0)((all, v) => math.min(all * math.max(v, 1.0), profile.rows.value)))
    else None
  }

  private def work(of: Aggregate, place: EarlyPlace, groups: Double): EarlyGrouping = {
    val early = statistics(place.early)
    EarlyGrouping(
      statistics(place.input).rows.value,
      groups,
      bytes(early, place.early.output) / math.max(early.rows.value, 1.0),
      above(of, place),
      InputTasks.ofLargest(place.input),
      planner.facts.tasks
    )
  }

  private def bytes(profile: RelationProfile, columns: Seq[Attribute]): Double = profile.bytes(columns.map(_.exprId.id))

  /** Cost of the operators from the place up to the final grouping, including the hash table of the final grouping. */
  private def above(of: Aggregate, place: EarlyPlace): Double = {
    val filled = place.sides.indexWhere(_.isFilled)
    val share  = if (filled < 0) 1.0 else partnered(place.sides(filled))
    val joined = place.sides.zipWithIndex.map { case (s, i) =>
      val (in, out) = (statistics(s.input), statistics(s.join).rows.value)
      // an outer join cannot broadcast the side that it preserves
      val stay = !s.isFilled && (broadcasts(s.join, JoinChoice.other(s.side)) ||
        bytes(statistics(s.other), s.other.output) <= planner.facts.broadcastBytes)
      val (inShare, outShare) = (if (i < filled) share else 1.0, if (i <= filled) share else 1.0)
      EarlyGrouping.joined(
        planner.constants,
        in.rows.value * inShare,
        bytes(in, s.input.output) * inShare,
        out * outShare,
        stay
      )
    }
    joined.sum + EarlyGrouping.grouped(planner.constants, statistics(of.child).rows.value * share)
  }

  /**
   * Share of the rows of an outer join that an early grouping of the side that it fills makes fewer: not the rows
   * without a partner, of which there may be as many as the other side has rows.
   */
  private def partnered(s: EarlyPlace.Side): Double = {
    val preserved = statistics(s.other).rows.value
    math.max(0.0, 1.0 - preserved / math.max(statistics(s.join).rows.value, 1.0))
  }

  private def broadcasts(join: Join, side: BuildSide): Boolean =
    JoinDecision.broadcast(join).contains(side) ||
      SparkBroadcast(JoinChoice.input(join, side), planner.broadcastThreshold)

  /**
   * Builds the join of a side over a new input. Spark does not know the number of groups and estimates the size of a
   * grouping by the width of its rows. It must not take the new input for small and broadcast it.
   */
  private def guarded(side: EarlyPlace.Side, input: LogicalPlan): Join = {
    val join = if (side.side == BuildLeft) side.join.copy(left = input) else side.join.copy(right = input)
    join.copyTagsFrom(side.join)
    val kept = JoinDecision.kept(side.join)
    if (JoinGroup.hasStrategy(join.hint) || kept.contains(side.side)) join
    else {
      val decided = join.copy(hint = JoinDecision.hint(join, JoinDecision.broadcast(side.join), kept :+ side.side))
      decided.copyTagsFrom(join)
      decided
    }
  }

  private def note(place: EarlyPlace, groups: Double): String = {
    val tables = place.input.collectLeaves().collect { case l: LeafNode => LeafNames.name(l) }.distinct
    val keys   = place.keys.map(_.name)
    s"the rows of ${tables.mkString(", ")} are grouped by ${keys.mkString(", ")} below the joins, about " +
      s"${ReportNumbers.whole(groups)} groups of ${ReportNumbers.whole(statistics(place.input).rows.value)} rows"
  }
}

object EarlyGroupings {

  /**
   * Fewest rows for which an early grouping is considered: joining fewer rows takes as little time as one more
   * exchange.
   */
  private val LeastRows = 1e6

  /**
   * Share of the work of the operators above that an early grouping has to save: estimates of group counts are rough,
   * and the early grouping adds a step.
   */
  private val LeastGain = 0.3

  private def isCandidate(plan: LogicalPlan): Boolean = plan match {
    case a: Aggregate => !EarlyMark.isOn(a) && EarlyPlace.isOpen(a.child)
    case _            => false
  }

  /** Whether the plan is a grouping without keys. */
  private def isFigure(plan: LogicalPlan): Boolean = plan match {
    case a: Aggregate => a.groupingExpressions.isEmpty
    case _            => false
  }

  /**
   * Marks the joins around an early grouping as ordered, so that they are not a new join group when Spark runs the rule
   * again.
   */
  private def settled(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Join | _: Project | _: Filter | _: Expand => WrittenOrder.marked(plan.mapChildren(settled))
    case a: Aggregate if EarlyMark.isOn(a)            => a.mapChildren(settled)
    case other                                        => other
  }

  /** The inputs of the joins that a place consists of, with their filters. */
  private def joined(plan: LogicalPlan): Seq[LogicalPlan] = plan match {
    case _: Join | _: Project | _: Filter if plan.containsPattern(JOIN) => plan.children.flatMap(joined)
    case other                                                          => Seq(other)
  }

  /** The topmost joins of a plan. */
  private def joins(plan: LogicalPlan): Seq[LogicalPlan] = plan match {
    case j: Join => Seq(j)
    case other   => other.children.flatMap(joins)
  }
}
