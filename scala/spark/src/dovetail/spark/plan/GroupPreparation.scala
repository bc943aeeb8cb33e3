package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.catalyst.expressions.And
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.dovetail.group.{JoinGroup, RepeatedInputs}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.steer.{GroupForm, Steering}

/** A group with all that the search needs of it. */
final case class PreparedGroup(
    group: JoinGroup,
    leaves: Vector[LogicalPlan],
    predicates: JoinPredicates,
    graph: JoinGraph
) {
  def rebuild: RebuildPlan = new RebuildPlan(group, leaves, predicates, graph)

  /** What people call the relations. */
  def names: Vector[String] = graph.relations.map(_.name)

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
    repeated: RepeatedInputs
) {

  /** The group as the search takes it, with `plans` in the places of its leaves. */
  def apply(group: JoinGroup, plans: Vector[LogicalPlan]): PreparedGroup = apply(group, plans, group.predicates)

  def apply(group: JoinGroup, plans: Vector[LogicalPlan], predicates: JoinPredicates): PreparedGroup = {
    val leaves = complete(group, plans, predicates)
    val ready  = PreparedGroup(
      group,
      leaves,
      predicates,
      new GroupGraph(group, leaves, predicates, statistics, repeated, planner).graph
    )
    ready.copy(graph = steering.informed(ready.graph, ready.form))
  }

  /** The leaves with all that can be computed and filtered before the first join. */
  private def complete(group: JoinGroup, leaves: Vector[LogicalPlan], predicates: JoinPredicates): Vector[LogicalPlan] =
    group.withComputed(leaves).zipWithIndex.map { case (leaf, i) =>
      predicates.local.collect { case (`i`, e) => e }.reduceOption(And(_, _)).fold(leaf)(Filter(_, leaf))
    }
}
