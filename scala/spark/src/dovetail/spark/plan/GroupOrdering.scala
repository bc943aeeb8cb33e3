package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.CostModel
import dovetail.kernel.enumerate.{ReducerRules, Search}
import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.Estimate
import dovetail.kernel.size.CardinalityModel
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup, RepeatedInputs}
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, JoinPredicates}
import org.apache.spark.sql.dovetail.history.{KnownRuns, RunRecorder}
import org.apache.spark.sql.dovetail.report.{Decision, GroupReport, Trace}
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.steer.{Capture, GroupForm, Steering}
import org.apache.spark.sql.internal.SQLConf

/**
 * Orders one join group, in these steps: semi joins that keep rows away ([[SemiJoinReduction]]), the join graph
 * ([[GroupPreparation]]), the search, the decision ([[OrderChoice]]), counts of inputs on which it depends and then
 * both again ([[DecidingInputs]]), and the new plan ([[RebuildPlan]]) or the written one ([[WrittenOrder]]).
 */
final class GroupOrdering(
    planner: Planner,
    val statistics: PlanStatistics,
    steering: Steering,
    val preparation: GroupPreparation,
    reduction: SemiJoinReduction,
    shares: SearchShares,
    needed: NeededRows,
    filters: FilterAllowance,
    remembers: Boolean
) {
  import GroupOrdering.SearchResult

  private val choice   = new OrderChoice(planner, steering)
  private val deciding = new DecidingInputs(planner, statistics.uncertain)

  /** Groups for which this object chose the order, without an order that the user asked for. */
  val atRun: GroupsAtRun = new GroupsAtRun

  /** @param inside orders the join groups inside a leaf */
  def apply(group: JoinGroup, inside: LogicalPlan => LogicalPlan): LogicalPlan =
    PlanningTime.orNone((steering.off(group), Trace.timed("extract")(group.predicates))) match {
      case None                    => late(group, group.leaves.map(inside), Vector.empty)
      case Some((off, predicates)) =>
        val (leaves, notes) = reducedLeaves(group, predicates, off)
        val optimized       = leaves.map(inside)
        val share           = shares.nextShare(group)
        PlanningTime.twice {
          // the semi join in a reduced leaf repeats a join of the group: counting its effect twice would make the
          // estimate of that join too small
          val reduced = group.leaves.indices.filterNot(i => leaves(i) eq group.leaves(i)).toSet
          reduced.foreach(i => statistics.learnCopy(group.leaves(i), optimized(i)))
          ordered(group, optimized, predicates, reduced, off, share, notes)
        }.getOrElse(late(group, optimized, notes))
    }

  /** Adds early groupings below joins to a plan whose groups are ordered. */
  def grouped(plan: LogicalPlan): LogicalPlan =
    new EarlyGroupings(planner, statistics, steering.off(_).isDefined)(plan)

  /** The leaves, of which groupings may be reduced by semi joins, and notes about that for explain. */
  private def reducedLeaves(group: JoinGroup, predicates: JoinPredicates, off: Option[String]) = {
    val found =
      if (off.nonEmpty) None else Trace.timed("estimate")(PlanningTime.orNoneEarly(reduction(group, predicates)))
    found.getOrElse((group.leaves, Vector.empty))
  }

  /** Reports that time ran out before there was an order, and keeps the written order. */
  private def late(group: JoinGroup, optimized: Vector[LogicalPlan], notes: Vector[String]): LogicalPlan = {
    val all = (TimeIsUp.reason +: notes) ++ PlanningTime.takeCuts()
    if (!group.marked) Trace.record(_ => GroupReport.leftAlone(GroupNames(group).shown, all.mkString("; ")))
    WrittenOrder(group, optimized, planner.marksKeptGroups)
  }

  /**
   * @param optimized leaf plans of the join group, with the groups inside them ordered
   * @param reduced   relations from which semi joins with other inputs keep rows away
   * @param off       why the group must be left alone, or None
   * @param share     share of the time for searching, 0 to 1
   */
  private def ordered(
      group: JoinGroup,
      optimized: Vector[LogicalPlan],
      predicates: JoinPredicates,
      reduced: Set[Int],
      off: Option[String],
      share: Double,
      notes: Vector[String]
  ): LogicalPlan =
    off.orElse(refusal(group, predicates)) match {
      case Some(reason) =>
        // a marked group was reported when it was ordered, together with the subquery that it came from
        if ((group.leaves.size > 2 && !group.marked) || notes.nonEmpty)
          Trace.record(_ => GroupReport.leftAlone(GroupNames(group).shown, (reason +: notes).mkString("; ")))
        WrittenOrder(group, optimized, marks = off.isEmpty && planner.marksKeptGroups)
      case None =>
        val estimated = Trace.timed("estimate")(preparation(group, optimized, predicates, reduced))
        PlanningTime.check()
        val SearchResult(ready, search, chosen) = counted(searched(estimated, share, notes), share, notes, reduced)
        val limited                             = needed.keeps(group.top, chosen, planner)
          .orElse(CopiedInputs.exceeding(chosen, planner.copiedMemory, ready.names.shown)).fold(chosen)(chosen.bar)
        val written      = WrittenOrder(group, optimized, planner.marksKeptGroups)
        lazy val another = ready.rebuild(limited.outcome.best)
        val exposed      = Trace.timed("rebuild")(sparing(ready, optimized, limited, written, another))
        val settled      = exposed.fold(limited)(limited.bar)
        val rebuilt      = if (settled.taken) Some(another) else None
        rebuilt.foreach(_ => filters.take(limited.outcome.best.reducers))
        val cuts     = PlanningTime.takeCuts()
        val decision = settled.copy(notes = settled.notes ++ cuts ++ rebuilt.toVector.flatMap(planner.failedBefore))
        val several  = group.leaves.size > 2
        val at       = System.currentTimeMillis
        if (several || decision.taken || notes.nonEmpty || cuts.nonEmpty)
          Trace.record(reported(ready, decision, reduced, at, _))
        if (several && planner.reordersAtRunTime && decision.asked.isEmpty && decision.barred.isEmpty) atRun.add(ready)
        if (several) Capture.decided(ready.form, ready.names, decision.shape, search.priced(_, group.shape).isDefined)
        if (exposed.isDefined) WrittenOrder(group, optimized, marks = false) else rebuilt.getOrElse(written)
    }

  private def searchOf(graph: JoinGraph, share: Double, rules: ReducerRules, costs: CostModel): Search =
    new Search(graph, costs, planner.budget(share), planner.costsAsWritten, rules)

  private def searched(ready: PreparedGroup, share: Double, notes: Vector[String]): SearchResult = {
    val rules                = ReducerFilters.rules(ready, planner, filters.items)
    def by(costs: CostModel) = {
      val search = searchOf(ready.graph, share, rules, costs)
      SearchResult(ready, search, choice(ready, search, notes ++ ready.known.note))
    }
    val first    = by(planner.costs)
    val decision = first.decision
    val smaller  =
      if (!decision.taken || decision.asked.nonEmpty) None
      else new GroupBroadcasts(decision.outcome.best, planner.broadcastMemory).largest
    smaller.flatMap(most => PlanningTime.orNoneEarly(by(planner.costsWithin(most)))).getOrElse(first)
  }

  /** The same again, if inputs on whose estimates the order depends could be counted. */
  private def counted(found: SearchResult, share: Double, notes: Vector[String], reduced: Set[Int]): SearchResult = {
    val counts = Trace.timed("estimate")(PlanningTime.orNoneEarly(
      deciding.count(found.ready, found.decision, searchOf(_, share, ReducerRules.none, planner.costs))
    ).getOrElse(Vector.empty))
    if (counts.isEmpty) found
    else searched(Trace.timed("estimate")(preparation.again(found.ready, reduced)), share, notes ++ counts)
  }

  /**
   * Why the order must not be taken: it reads an input that may fail, and that plain Spark does not read in some case,
   * or it does not read one with effects. An order that the user asked for is not checked.
   */
  private def sparing(
      ready: PreparedGroup,
      optimized: Vector[LogicalPlan],
      decision: Decision,
      written: LogicalPlan,
      rebuilt: => LogicalPlan
  ): Option[String] = {
    val spark = planner.sparkReordering
    if (decision.asked.nonEmpty || !(decision.taken || spark.isOn)) None
    else {
      val plain  = spark(WrittenOrder(ready.group, optimized, marks = false))
      val inputs = new SparedInputs(ready.leaves)
      def plan   = if (decision.taken) rebuilt else written
      inputs.exposed(plain, plan, ready.names.shown).orElse(inputs.skipped(plain, plan, ready.names.shown))
    }
  }

  private def reported(
      ready: PreparedGroup,
      decision: Decision,
      reduced: Set[Int],
      at: Long,
      detailed: Boolean
  ): GroupReport = {
    val inputs = GroupReport.InputLabels(ready.names.labels, ready.group.shape)
    val report = GroupReport.searched(ready.graph, ready.leaves, decision, planner.basis, inputs, detailed)
    if (detailed || !remembers) report
    else {
      val tree    = if (decision.taken) decision.outcome.best else decision.outcome.original
      val planned = ready.estimated.relations.map(_.profile.rows.value)
      val fewer   = reduced ++ tree.reducers.map(_.reduced)
      report.copy(identity = RunRecorder.identity(ready.group, ready.historyForms.value, tree, planned, fewer, at))
    }
  }

  /** Estimated rows of the whole group, as the search sees them. */
  def rows(group: JoinGroup): Estimate = {
    val graph = preparation(group, group.leaves).graph
    new CardinalityModel(graph).estimate(graph.relations.indices.toArray)
  }

  /** The canonical form of the group, which does not depend on how the query is written. */
  def form(group: JoinGroup): GroupForm = preparation(group, group.leaves).form(literals = true)

  /** Keys of the group in the history, with its literals and without. */
  def historyKeys(group: JoinGroup): Vector[String] = {
    val forms = preparation(group, group.leaves).historyForms.value
    (forms.whole ++ forms.template).map(_.key).toVector
  }

  private def refusal(group: JoinGroup, predicates: JoinPredicates): Option[String] = {
    def known(e: Expression) = e.references.forall(a => group.outputs.exists(_.contains(a)))
    val foreign              = predicates.foreign ++ group.operators.flatMap(_.condition).filterNot(known)
    if (group.leaves.size < 3 && !planner.mayBroadcast(group)) Some("two relations have only one order")
    else if (group.marked) Some("already ordered by Dovetail")
    else if (foreign.nonEmpty) Some(s"a predicate reads columns of an outer query: ${ExpressionText(foreign.head)}")
    else if (!group.distinct) Some("two inputs have a column in common")
    else if (group.leaves.exists(RowPlaces.isObserved)) Some("the metrics of an observed input need all of its rows")
    else if (group.operators.nonEmpty && predicates.constant.nonEmpty)
      Some("the group has outer, semi or anti joins and a predicate without columns")
    else None
  }
}

object GroupOrdering {

  /** A group with its search and the order that was chosen. */
  final private case class SearchResult(ready: PreparedGroup, search: Search, decision: Decision)

  /**
   * For all join groups of a query.
   *
   * @param plan     plan as it reached the rule
   * @param prepared the same plan with subqueries rewritten as joins
   */
  def apply(session: SparkSession, conf: SQLConf, plan: LogicalPlan, prepared: LogicalPlan): GroupOrdering = {
    val planner     = new Planner(conf, session)
    val steering    = new Steering(session, prepared)
    val statistics  = PlanStatistics.of(session, conf, plan, prepared, steering.look)
    val reduction   = new SemiJoinReduction(prepared, statistics, planner)
    val repeated    = RepeatedInputs(prepared, planner.reusesExchanges)
    val preparation = new GroupPreparation(planner, statistics, steering, new KnownRuns(session), repeated)
    val remembers   = RunRecorder.isOn(session)
    if (remembers) RunRecorder.watch(session)
    val shares  = new SearchShares(prepared)
    val needed  = new NeededRows(prepared)
    val filters = new FilterAllowance(plan, Runtime.getRuntime.maxMemory)
    new GroupOrdering(planner, statistics, steering, preparation, reduction, shares, needed, filters, remembers)
  }
}
