package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.profile.Estimate
import dovetail.kernel.size.CardinalityModel
import org.apache.spark.internal.config.MAX_RESULT_SIZE
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{FailOpen, LazyValue}
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup, RepeatedInputs}
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, JoinPredicates}
import org.apache.spark.sql.dovetail.history.{HistoryEntry, IcebergSnapshot, KnownRuns, RecognizedGroup, RunRecorder}
import org.apache.spark.sql.dovetail.report.{Decision, DecisionBasis, GroupIdentity, GroupReport, Trace}
import org.apache.spark.sql.dovetail.stats.{CertainRows, PlanStatistics}
import org.apache.spark.sql.dovetail.steer.{Capture, GroupForm, Steering}
import org.apache.spark.sql.internal.SQLConf

/**
 * Orders one join group, in these steps: semi joins that keep rows away ([[SemiJoinReduction]]), the join graph
 * ([[GroupPreparation]]), the search ([[GroupSearch]]), reasons against the order that it chose ([[OrderVeto]]), and
 * the new plan ([[RebuildPlan]]) or the written one ([[WrittenOrder]]).
 */
final class GroupOrdering(
    planner: Planner,
    val statistics: PlanStatistics,
    steering: Steering,
    val preparation: GroupPreparation,
    reduction: SemiJoinReduction,
    shares: SearchShares,
    needed: NeededRows,
    joins: JoinsAbove,
    filters: FilterAllowance,
    files: ManyFiles,
    remembers: Boolean
) {
  import GroupOrdering.{reported, OrderedGroup}

  private val search = new GroupSearch(planner, steering, preparation, statistics, filters, files)
  private val veto   = new OrderVeto(planner, needed, new CertainRows(statistics), joins)
  private val ranges = new RangeFilters(planner, statistics, filters)

  /** Groups for which this object chose the order, without an order that the user asked for. */
  val atRun: GroupsAtRun = new GroupsAtRun

  /** @param inside orders the join groups inside a leaf */
  def apply(group: JoinGroup, inside: LogicalPlan => LogicalPlan): LogicalPlan =
    PlanningTime.orNone((leftToSpark(group), Trace.timed("extract")(group.predicates))) match {
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

  /** Why Spark has to plan the group, or None. */
  private def leftToSpark(group: JoinGroup): Option[String] = steering.off(group).orElse(
    if (group.leaves.exists(GroupOrdering.readsStep))
      Some("Spark plans each step of a recursive query by itself, when the rows of the step before are known")
    else None
  )

  /** Adds early groupings below joins to a plan whose groups are ordered. */
  def grouped(plan: LogicalPlan): LogicalPlan =
    new EarlyGroupings(planner, statistics, steering.off(_).isDefined, filters.merges)(plan)

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
      case Some(reason) => leftAlone(group, optimized, reason, notes, off.isEmpty && planner.marksKeptGroups)
      case None         =>
        val estimated = Trace.timed("estimate")(preparation.toOrder(group, optimized, predicates, reduced))
        PlanningTime.check()
        val found = search(estimated, share, notes, reduced)
        val order = settled(found, optimized)
        record(found, order, reduced ++ order.ranges.map(_.range.reduced), notes.nonEmpty)
        order.plan
    }

  /** Keeps the written order of a group that must not be searched. */
  private def leftAlone(
      group: JoinGroup,
      optimized: Vector[LogicalPlan],
      reason: String,
      notes: Vector[String],
      marks: Boolean
  ): LogicalPlan = {
    // a marked group was reported when it was ordered, together with the subquery that it came from
    if ((group.leaves.size > 2 && !group.marked) || notes.nonEmpty)
      Trace.record(_ => GroupReport.leftAlone(GroupNames(group).shown, (reason +: notes).mkString("; ")))
    WrittenOrder(group, optimized, marks)
  }

  /** The plan in the order that the search chose, or in the written order if a veto forbids that. */
  private def settled(found: SearchResult, optimized: Vector[LogicalPlan]): OrderedGroup = {
    val ready      = found.ready
    val limited    = veto.ofOrder(ready, found.decision).fold(found.decision)(found.decision.bar)
    val skipping   = if (limited.asked.isEmpty && needed.all(ready.group.top)) ranges(ready) else Vector.empty
    val conditions = RangeFilters.conditions(ready, skipping)
    val inputs     = conditions.foldLeft(optimized) { case (all, (i, e)) => all.updated(i, Filter(e, all(i))) }
    // with a mark, because the rule must not add the ranges again
    val written      = WrittenOrder(ready.group, inputs, planner.marksKeptGroups || conditions.nonEmpty)
    lazy val another = ready.rebuild(limited.outcome.best, conditions)
    val exposed      = Trace.timed("rebuild")(veto.ofPlan(ready, optimized, limited, written, another))
    val told         = limited.copy(notes = limited.notes ++ skipping.map(_.note(ready)))
    val decision     = exposed.fold(told)(limited.bar)
    val rebuilt      = if (decision.taken) Some(another) else None
    rebuilt.foreach { _ =>
      filters.take(limited.outcome.best.reducers)
      planner.broadcasts.take(ready.group.top, ready.broadcasts(limited.outcome.best).taken)
    }
    // without a mark, the exposed group gets what it would get without Dovetail
    val kept = if (exposed.isDefined) WrittenOrder(ready.group, optimized, marks = false) else written
    OrderedGroup(decision, rebuilt, kept, if (exposed.isDefined) Vector.empty else skipping)
  }

  /** Records the decision for explain, for adaptive execution, and for a pin that is being made. */
  private def record(found: SearchResult, order: OrderedGroup, reduced: Set[Int], noted: Boolean): Unit = {
    val ready    = found.ready
    val group    = ready.group
    val cuts     = PlanningTime.takeCuts()
    val failed   = order.rebuilt.toVector.flatMap(planner.failedBefore)
    val decision = order.decision.copy(notes = order.decision.notes ++ cuts ++ failed)
    val several  = group.leaves.size > 2
    val at       = System.currentTimeMillis
    val shown    = several || decision.taken || noted || order.ranges.nonEmpty || cuts.nonEmpty
    // an entry of the query log may wait: the closure must not hold this object, nor the search
    val (told, basis) = (if (Trace.wantsDetails) decision else decision.light, planner.basis)
    val snapshots     = if (remembers) Some(group.leaves.map(IcebergSnapshot.of)) else None
    if (shown) Trace.record(reported(ready, told, reduced, at, basis, snapshots, _))
    val mayChange = planner.hashesAtRunTime || (several && planner.reordersAtRunTime)
    if (mayChange && decision.asked.isEmpty && decision.barred.isEmpty) atRun.add(ready)
    if (several)
      Capture.decided(ready.form, ready.names, decision.shape, found.search.priced(_, group.shape).isDefined)
  }

  /** Estimated rows of the whole group, as the search sees them. */
  def rows(group: JoinGroup): Estimate = {
    val graph = preparation(group, group.leaves).graph
    new CardinalityModel(graph).estimate(graph.relations.indices.toArray)
  }

  /** The canonical form of the group, which does not depend on how the query is written. */
  def form(group: JoinGroup): GroupForm = preparation(group, group.leaves).form(literals = true)

  /** Whether an entry of the history is about this group or a part of it; None if there can be none. */
  def isAbout(group: JoinGroup): Option[HistoryEntry => Boolean] = {
    val recognized = new RecognizedGroup(group, preparation(group, group.leaves).historyForms.value)
    if (recognized.isNamed) Some(recognized.has(_)) else None
  }

  private def refusal(group: JoinGroup, predicates: JoinPredicates): Option[String] = {
    def known(e: Expression) = e.references.forall(a => group.outputs.exists(_.contains(a)))
    val foreign              = predicates.foreign ++ group.operators.flatMap(_.condition).filterNot(known)
    if (group.leaves.size < 3 && !planner.mayBroadcast(group) && !ranges.mayPay(group))
      Some("two relations have only one order")
    else if (group.marked) Some("already ordered by Dovetail")
    else if (foreign.nonEmpty) Some(s"a predicate reads columns of an outer query: ${ExpressionText(foreign.head)}")
    else if (!group.distinct) Some("two inputs have a column in common")
    else if (group.leaves.exists(RowPlaces.mayReadBuckets))
      Some("an input is a sample or has numbered or random rows, and reads a table by its buckets or not")
    else if (group.operators.nonEmpty && predicates.constant.nonEmpty)
      Some("the group has outer, semi or anti joins and a predicate without columns")
    else None
  }
}

object GroupOrdering {

  /**
   * Whether a plan reads the rows of the step before in a recursive query (from Spark 4.1 on), and not those of a whole
   * recursion.
   */
  private def readsStep(plan: LogicalPlan): Boolean =
    plan.nodeName == "UnionLoopRef" || (plan.nodeName != "UnionLoop" && plan.children.exists(readsStep))

  /**
   * What becomes of a group.
   *
   * @param rebuilt plan in a new order, if it is taken
   * @param kept    plan in the written order
   * @param ranges  key ranges by which scans of either plan are filtered
   */
  final private case class OrderedGroup(
      decision: Decision,
      rebuilt: Option[LogicalPlan],
      kept: LogicalPlan,
      ranges: Vector[RangeFilters.Range]
  ) {
    def plan: LogicalPlan = rebuilt.getOrElse(kept)
  }

  /**
   * The report on a group.
   *
   * @param reduced   relations from which other inputs keep rows away
   * @param at        when the query was planned, in milliseconds of the system's clock
   * @param snapshots snapshots that the leaves read then; None if the history does not record the group
   */
  private def reported(
      ready: PreparedGroup,
      decision: Decision,
      reduced: Set[Int],
      at: Long,
      basis: DecisionBasis,
      snapshots: Option[Vector[Vector[Option[String]]]],
      detailed: Boolean
  ): GroupReport = {
    val inputs = GroupReport.InputLabels(ready.names.labels, ready.group.shape)
    val report = GroupReport.searched(ready.graph, ready.leaves, decision, basis, inputs, detailed)
    if (detailed || snapshots.isEmpty) report
    else {
      val tree    = if (decision.taken) decision.outcome.best else decision.outcome.original
      val planned = ready.estimated.relations.map(_.profile.rows.value)
      val fewer   = reduced ++ tree.reducers.map(_.reduced)
      val conf    = SQLConf.get
      report.copy(identity =
        new LazyValue(() =>
          FailOpen("naming a group of joins", (_: String) => Option.empty[GroupIdentity])(
            SQLConf.withExistingConf(conf)(
              RunRecorder.identity(
                ready.group,
                ready.historyForms.value,
                ready.known,
                tree,
                planned,
                fewer,
                at,
                snapshots.get
              )
            )
          )
        )
      )
    }
  }

  /**
   * Reserves the memory of broadcasts that an earlier run of the rule has chosen, in a subquery that is a join now,
   * unless that run has reserved it for this query.
   */
  private def takeMade(plan: LogicalPlan, planner: Planner, statistics: PlanStatistics): Unit = plan.foreach {
    case j: Join =>
      JoinDecision.broadcast(j).map(JoinChoice.input(j, _)).foreach(input =>
        planner.broadcasts.take(planner.roomOf(input, statistics(input)))
      )
    case _ =>
  }

  /**
   * For all join groups of a query.
   *
   * @param plan     plan as it reached the rule
   * @param prepared the same plan with subqueries rewritten as joins
   */
  def apply(session: SparkSession, conf: SQLConf, plan: LogicalPlan, prepared: LogicalPlan): GroupOrdering = {
    val planner     = new Planner(conf, session, prepared)
    val steering    = new Steering(session, prepared)
    val statistics  = PlanStatistics.of(session, conf, plan, prepared, steering.look)
    val reduction   = new SemiJoinReduction(statistics, planner)
    val repeated    = RepeatedInputs(prepared, planner.reusesExchanges)
    val above       = new ClusteringAbove(prepared, planner, statistics)
    val preparation = new GroupPreparation(planner, statistics, steering, new KnownRuns(session), repeated, above)
    val remembers   = RunRecorder.isOn(session)
    if (remembers) RunRecorder.watch(session)
    if (planner.broadcasts.isUnused) PlanningTime.orNone(takeMade(prepared, planner, statistics))
    val shares  = new SearchShares(prepared)
    val needed  = new NeededRows(prepared)
    val result  = session.sparkContext.conf.get(MAX_RESULT_SIZE)
    val filters = new FilterAllowance(plan, Runtime.getRuntime.maxMemory, result)
    val joins   = new JoinsAbove(prepared)
    val files   = new ManyFiles(prepared, planner)
    new GroupOrdering(
      planner,
      statistics,
      steering,
      preparation,
      reduction,
      shares,
      needed,
      joins,
      filters,
      files,
      remembers
    )
  }
}
