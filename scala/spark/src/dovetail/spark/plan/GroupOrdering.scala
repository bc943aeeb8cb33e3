package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.{Outcome, Search, Shape}
import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.Estimate
import dovetail.kernel.size.CardinalityModel
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup, RepeatedInputs}
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, JoinPredicates}
import org.apache.spark.sql.dovetail.report.{Decision, GroupReport, Trace}
import org.apache.spark.sql.dovetail.stats.{PlanStatistics, StoredTables}
import org.apache.spark.sql.dovetail.steer.{AskedOrder, Capture, GroupForm, OrderHint, QueryHints, Steering}
import org.apache.spark.sql.internal.SQLConf

/** Orders one group of joins: graph, search, decision, new plan. */
final class GroupOrdering(
    planner: Planner,
    val statistics: PlanStatistics,
    steering: Steering,
    repeated: RepeatedInputs,
    reduction: SemiJoinReduction,
    shares: SearchShares
) {

  /** @param inside orders the groups inside of a leaf */
  def apply(group: JoinGroup, inside: LogicalPlan => LogicalPlan): LogicalPlan = PlanningTime.orNone(reduced(group)) match {
    case None                                   => late(group, group.leaves.map(inside), Vector.empty)
    case Some((off, predicates, leaves, notes)) =>
      val optimized = leaves.map(inside)
      PlanningTime.orNone {
        // what keeps rows away is in the group already: counted once more it would make the join with it too small
        group.leaves.indices.filterNot(i => leaves(i) eq group.leaves(i)).foreach(i => statistics.learnCopy(group.leaves(i), optimized(i)))
        ordered(group, optimized, predicates, off, notes)
      }.getOrElse(late(group, optimized, notes))
  }

  private def reduced(group: JoinGroup): (Option[String], JoinPredicates, Vector[LogicalPlan], Vector[String]) = {
    val off             = steering.off(group)
    val predicates      = Trace.timed("extract")(group.predicates)
    val (leaves, notes) = if (off.isEmpty) Trace.timed("estimate")(reduction(group, predicates)) else (group.leaves, Vector.empty)
    (off, predicates, leaves, notes)
  }

  /** Time ran out before there was an order. */
  private def late(group: JoinGroup, optimized: Vector[LogicalPlan], notes: Vector[String]): LogicalPlan = {
    val all = (TimeIsUp.reason +: notes) ++ PlanningTime.takeCuts()
    if (!group.marked) Trace.record(_ => GroupReport.leftAlone(GroupNames(group), all.mkString("; ")))
    keep(group, optimized, planner.marksKeptGroups)
  }

  /**
   * @param optimized the group's leaves, with the groups inside of them ordered
   * @param off       why nothing is to be done with it
   */
  private def ordered(
      group: JoinGroup,
      optimized: Vector[LogicalPlan],
      predicates: JoinPredicates,
      off: Option[String],
      notes: Vector[String]
  ): LogicalPlan = {
    val share = shares.of(group)
    off.orElse(refusal(group, predicates)) match {
      case Some(reason) =>
        // a marked group was reported when it was ordered: with the subquery it came from
        if ((group.leaves.size > 2 && !group.marked) || notes.nonEmpty)
          Trace.record(_ => GroupReport.leftAlone(GroupNames(group), (reason +: notes).mkString("; ")))
        keep(group, optimized, marks = off.isEmpty && planner.marksKeptGroups)
      case None =>
        val ready = Trace.timed("estimate")(prepared(group, optimized, predicates))
        PlanningTime.check()
        val search   = new Search(ready.graph, planner.costs, planner.budget(share), planner.costsAsWritten)
        val settled  = decided(group, ready, search, notes)
        val rebuilt  = if (settled.taken) Some(Trace.timed("rebuild")(ready.rebuild(settled.outcome.best))) else None
        val cuts     = PlanningTime.takeCuts()
        val decision = settled.copy(notes = settled.notes ++ cuts ++ rebuilt.toVector.flatMap(planner.failedBefore))
        val several  = group.leaves.size > 2
        if (several || decision.taken || notes.nonEmpty || cuts.nonEmpty) Trace.record(GroupReport.searched(ready.graph, ready.leaves, decision, planner.basis, _))
        if (several) Capture.decided(ready.form, ready.names, decision.shape, search.priced(_, group.shape).isDefined)
        rebuilt.getOrElse(keep(group, optimized, planner.marksKeptGroups))
    }
  }

  /** The first order that somebody asks for and that is legal; else the best one, if it saves enough. */
  private def decided(group: JoinGroup, ready: PreparedGroup, search: Search, notes: Vector[String]): Decision = {
    val hinted = planner.ordersFor(group).map(text => AskedOrder("the order that was asked for", s"the order '$text'", OrderHint.read(text, ready.names)))
    val idle   = QueryHints.idle(group).map { case (hint, why) => AskedOrder("", s"the hint $hint", Left(why)) }
    val asked  =
      (hinted ++ idle ++ steering.pins(ready.form)).map(a => a -> a.order.flatMap(legal(ready, search, _)))
    val all = notes ++ asked.collect { case (a, Left(why)) => s"${a.name} is not used: $why" }
    asked.collectFirst { case (a, Right(outcome)) => a.used(); Decision(outcome, taken = true, all, Some(a.whenUsed)) }.getOrElse {
      val outcome = Trace.timed("search")(search.run(group.shape))
      val gain    = Decision.gain(outcome)
      Decision(outcome, taken = gain > 0.0 && gain >= planner.minGain, all, None)
    }
  }

  /** An order that somebody asks for, priced, or why it cannot be. */
  private def legal(ready: PreparedGroup, search: Search, order: Shape): Either[String, Outcome] =
    search.priced(order, ready.group.shape).toRight("outer or semi joins forbid it")
      .filterOrElse(o => !planner.refused(ready.rebuild(o.best)), "it has a cross product, which spark.sql.crossJoin.enabled=false forbids")

  /** Rows of the whole group, as the search sees them. */
  def rows(group: JoinGroup): Estimate = {
    val graph = prepared(group, group.leaves).graph
    new CardinalityModel(graph).estimate(graph.relations.indices.toArray)
  }

  /** What the group is called, whoever wrote it. */
  def form(group: JoinGroup): GroupForm = prepared(group, group.leaves).form(literals = true)

  /** The group as the search takes it, with `plans` in the places of its leaves. */
  def prepared(group: JoinGroup, plans: Vector[LogicalPlan]): PreparedGroup = prepared(group, plans, group.predicates)

  private def prepared(group: JoinGroup, plans: Vector[LogicalPlan], predicates: JoinPredicates): PreparedGroup = {
    val leaves = complete(group, plans, predicates)
    val ready  = PreparedGroup(group, leaves, predicates, new GroupGraph(group, leaves, predicates, statistics, repeated, planner).graph)
    ready.copy(graph = steering.informed(ready.graph, ready.form))
  }

  private def refusal(group: JoinGroup, predicates: JoinPredicates): Option[String] = {
    def known(e: Expression) = e.references.forall(a => group.outputs.exists(_.contains(a)))
    val foreign              = predicates.foreign ++ group.operators.flatMap(_.condition).filterNot(known)
    if (group.leaves.size < 3 && !planner.mayBroadcast(group)) Some("two relations have only one order")
    else if (group.marked) Some("already ordered by Dovetail")
    else if (foreign.nonEmpty) Some(s"a predicate reads columns of an outer query: ${ExpressionText(foreign.head)}")
    else if (!group.distinct) Some("two inputs have a column in common")
    else if (group.operators.nonEmpty && predicates.constant.nonEmpty) Some("a predicate without columns beside outer, semi or anti joins")
    else None
  }

  /** The leaves with all that can be computed and filtered before the first join. */
  private def complete(group: JoinGroup, leaves: Vector[LogicalPlan], predicates: JoinPredicates): Vector[LogicalPlan] =
    group.withComputed(leaves).zipWithIndex.map { case (leaf, i) =>
      predicates.local.collect { case (`i`, e) => e }.reduceOption(And(_, _)).fold(leaf)(Filter(_, leaf))
    }

  /** The group as written, over its optimized leaves. Where Spark's own cost-based reordering is on, the joins are marked: the order was decided here. */
  private def keep(group: JoinGroup, optimized: Vector[LogicalPlan], marks: Boolean): LogicalPlan = {
    val replacement = new java.util.IdentityHashMap[LogicalPlan, LogicalPlan]
    group.leaves.zip(optimized).foreach { case (leaf, o) => replacement.put(leaf, o) }
    def put(p: LogicalPlan): LogicalPlan =
      if (replacement.containsKey(p)) replacement.get(p)
      else
        p.mapChildren(put) match {
          case j: Join if marks && j.hint == JoinHint.NONE => marked(j)
          case other                                       => other
        }
    put(group.top)
  }

  private def marked(j: Join): Join = { val join = j.copy(hint = JoinGroup.Mark); join.copyTagsFrom(j); join }
}

/** A group with all that the search needs of it. */
final case class PreparedGroup(group: JoinGroup, leaves: Vector[LogicalPlan], predicates: JoinPredicates, graph: JoinGraph) {
  def rebuild: RebuildPlan = new RebuildPlan(group, leaves, predicates, graph)

  /** What people call the relations. */
  def names: Vector[String] = graph.relations.map(_.name)

  /** What the group is called, whoever wrote it. */
  def form(literals: Boolean): GroupForm = new GroupForm(group, predicates, graph, literals)
}

object GroupOrdering {

  /**
   * For all groups of a query.
   *
   * @param plan     as it reached the rule, with all that Spark knew of its tables
   * @param prepared with subqueries as joins
   */
  def apply(session: SparkSession, conf: SQLConf, plan: LogicalPlan, prepared: LogicalPlan): GroupOrdering = {
    val planner    = new Planner(conf, session)
    val statistics = new PlanStatistics(conf, planner.histograms, new StoredTables(session))
    Seq(plan, prepared).foreach(statistics.learnFrom)
    Trace.timed("footers")(statistics.readAhead(prepared))
    val reduction = new SemiJoinReduction(prepared, statistics, planner)
    new GroupOrdering(planner, statistics, new Steering(session), RepeatedInputs(prepared, planner.reusesExchanges), reduction, new SearchShares(prepared))
  }
}
