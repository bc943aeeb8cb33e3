package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.catalyst.expressions.And
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup, RepeatedInputs}
import org.apache.spark.sql.dovetail.history.{HistoryForms, KnownGroup, KnownRuns}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.report.LazyValue
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.steer.{GroupForm, Steering}

/**
 * A group with all that the search needs of it.
 *
 * @param estimated the graph as statistics know it
 * @param known     the same with what history and users know beside
 * @param historyForms what history calls it: for the look-up, and again when it has run
 */
final case class PreparedGroup(
    group: JoinGroup,
    leaves: Vector[LogicalPlan],
    predicates: JoinPredicates,
    estimated: JoinGraph,
    known: KnownGroup,
    historyForms: LazyValue[HistoryForms]
) {
  def graph: JoinGraph = known.graph

  def rebuild: RebuildPlan = new RebuildPlan(group, leaves, predicates, graph)

  /** What people call the relations. */
  lazy val names: GroupNames = GroupNames(group, leaves)

  /** What the group is called, whoever wrote it. */
  def form(literals: Boolean): GroupForm = new GroupForm(group, predicates, graph, literals)
}

/**
 * Second step from a logical plan to a join graph: a group with the rows and columns of its leaves, and what the user
 * knows of them.
 */
final class GroupPreparation(
    planner: Planner,
    statistics: PlanStatistics,
    steering: Steering,
    runs: KnownRuns,
    repeated: RepeatedInputs
) {

  /** The group as the search takes it, with `plans` in the places of its leaves. */
  def apply(group: JoinGroup, plans: Vector[LogicalPlan]): PreparedGroup = apply(group, plans, group.predicates)

  /** @param reduced relations of which other inputs keep rows away */
  def apply(
      group: JoinGroup,
      plans: Vector[LogicalPlan],
      predicates: JoinPredicates,
      reduced: Set[Int] = Set.empty
  ): PreparedGroup = {
    val leaves = complete(group, plans, predicates)
    val graph  = new GroupGraph(group, leaves, predicates, statistics, repeated, planner).graph
    val forms  = new LazyValue(() =>
      new HistoryForms(group, predicates, new GroupForm(group, predicates, graph, _, nulls = true))
    )
    val ready = PreparedGroup(
      group,
      leaves,
      predicates,
      graph,
      runs(graph, group.leaves, reduced, forms.value),
      forms
    )
    ready.copy(known = ready.known.copy(graph = steering.informed(ready.graph, ready.form)))
  }

  /** The leaves with all that can be computed and filtered before the first join. */
  private def complete(group: JoinGroup, leaves: Vector[LogicalPlan], predicates: JoinPredicates): Vector[LogicalPlan] =
    group.withComputed(leaves).zipWithIndex.map { case (leaf, i) =>
      predicates.local.collect { case (`i`, e) => e }.reduceOption(And(_, _)).fold(leaf)(Filter(_, leaf))
    }
}
