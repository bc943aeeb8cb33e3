package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.{Outcome, Search}
import dovetail.kernel.estimate.{CardinalityModel, Estimate}
import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.dovetail.explain.{GroupReport, Trace}
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, JoinPredicates}
import org.apache.spark.sql.dovetail.stats.{LeafStatistics, PlanStatistics}

/** Orders one group of joins: graph, search, decision, new plan. */
final class GroupOrdering(planner: Planner, val statistics: PlanStatistics) {

  /** @param optimized the group's leaves, with the groups inside of them ordered */
  def apply(group: JoinGroup, optimized: Vector[LogicalPlan]): LogicalPlan = {
    val predicates = Trace.timed("extract")(JoinPredicates(group.outputs, group.conditions))
    refusal(group, predicates) match {
      case Some(reason) =>
        // a marked group was reported when it was ordered: with the subquery it came from
        if (group.leaves.size > 2 && !group.marked) Trace.record(_ => GroupReport.leftAlone(group.leaves.map(GroupOrdering.name), reason))
        keep(group, optimized)
      case None =>
        val ready          = Trace.timed("estimate")(prepared(group, optimized, predicates))
        val search         = new Search(ready.graph, planner.costs, planner.budget(), planner.costsAsWritten)
        val hinted         = planner.ordersFor(group).map(text => text -> asAsked(text, ready.graph, group, search))
        val found          = hinted.collectFirst { case (_, Right(asked)) => asked }
        val ignored        = hinted.collect { case (text, Left(why)) => s"the order '$text' is not used: $why" }
        val outcome        = found.getOrElse(Trace.timed("search")(search.run(group.shape)))
        val gain           = 1.0 - outcome.best.cost.total / math.max(outcome.original.cost.total, Double.MinPositiveValue)
        val taken          = found.isDefined || (gain > 0.0 && gain >= planner.minGain)
        val (limit, costs) = (planner.broadcastThreshold, planner.costs.name)
        Trace.record(GroupReport.searched(ready.graph, ready.leaves, outcome, taken, gain, planner.minGain, limit, costs, ignored, _))
        if (taken) Trace.timed("rebuild")(ready.rebuild(outcome.best)) else keep(group, optimized)
    }
  }

  private def asAsked(text: String, graph: JoinGraph, group: JoinGroup, search: Search): Either[String, Outcome] =
    OrderHint.read(text, graph.relations.map(_.name)).flatMap(search.priced(_, group.shape).toRight("outer or semi joins forbid it"))

  /** Rows of the whole group, as the search sees them. */
  def rows(group: JoinGroup): Estimate = {
    val graph = prepared(group, group.leaves).graph
    new CardinalityModel(graph).estimate(graph.relations.indices.toArray)
  }

  /** The group as the search takes it, with `plans` in the places of its leaves. */
  def prepared(group: JoinGroup, plans: Vector[LogicalPlan]): PreparedGroup = prepared(group, plans, JoinPredicates(group.outputs, group.conditions))

  private def prepared(group: JoinGroup, plans: Vector[LogicalPlan], predicates: JoinPredicates): PreparedGroup = {
    val leaves = complete(group, plans, predicates)
    PreparedGroup(group, leaves, predicates, new GroupGraph(group, leaves, predicates, statistics, planner.broadcastThreshold).graph)
  }

  private def refusal(group: JoinGroup, predicates: JoinPredicates): Option[String] = {
    def known(e: Expression) = e.references.forall(a => group.outputs.exists(_.contains(a)))
    val foreign              = predicates.foreign ++ group.operators.flatMap(_.condition).filterNot(known)
    if (group.leaves.size < 3) Some("two relations have only one order")
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
  private def keep(group: JoinGroup, optimized: Vector[LogicalPlan]): LogicalPlan = {
    val replacement = new java.util.IdentityHashMap[LogicalPlan, LogicalPlan]
    group.leaves.zip(optimized).foreach { case (leaf, o) => replacement.put(leaf, o) }
    def put(p: LogicalPlan): LogicalPlan =
      if (replacement.containsKey(p)) replacement.get(p)
      else
        p.mapChildren(put) match {
          case j: Join if planner.marksKeptGroups && j.hint == JoinHint.NONE => j.copy(hint = JoinGroup.Mark)
          case other                                                         => other
        }
    put(group.top)
  }
}

/** A group with all that the search needs of it. */
final case class PreparedGroup(group: JoinGroup, leaves: Vector[LogicalPlan], predicates: JoinPredicates, graph: JoinGraph) {
  def rebuild: RebuildPlan = new RebuildPlan(group, leaves, predicates, graph)
}

object GroupOrdering {

  /** What people call a leaf of a group: its table, or the operator and the tables below it. */
  def name(plan: LogicalPlan): String = plan match {
    case leaf: LeafNode                            => LeafStatistics.name(leaf)
    case _: Filter | _: Project | _: SubqueryAlias => name(plan.children.head)
    case j: Join                                   => s"${kind(j.joinType)}(${name(j.left)}, ${name(j.right)})"
    case other                                     =>
      val tables = other.collectLeaves().map(name).distinct
      s"${other.nodeName.toLowerCase(java.util.Locale.ROOT)}(${tables.take(NamesShown).mkString(", ")}${if (tables.size > NamesShown) ", …" else ""})"
  }

  // an existence join has no SQL of its own, and its text holds an expression id
  private def kind(joinType: JoinType): String = joinType match {
    case _: ExistenceJoin => "existence"
    case other            => other.sql.toLowerCase(java.util.Locale.ROOT).replace(' ', '_')
  }

  /** Tables that a name of an operator lists. */
  private val NamesShown = 3

  /** The second `date_dim` of a query is `date_dim#2`. */
  def distinctNames(names: Vector[String]): Vector[String] = names.zipWithIndex.map { case (n, i) =>
    val before = names.take(i).count(_ == n)
    if (before == 0) n else s"$n#${before + 1}"
  }
}
