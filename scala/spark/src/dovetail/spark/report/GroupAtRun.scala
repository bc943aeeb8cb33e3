package org.apache.spark.sql.dovetail.report

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}

/**
 * A join group that Dovetail may change while its query runs. It is a tag on the joins of the optimized plan, and
 * Spark keeps the tag in adaptive execution. The relations below a join are identified by columns, as in
 * [[ActualRows]].
 *
 * @param names   names of the relations
 * @param columns for each relation, the columns that no other relation has
 */
final class GroupAtRun(val names: Vector[String], val columns: Vector[Set[ExprId]]) {

  /** Report on why the planned order was kept at run time; the latest one of the latest run. */
  @volatile var kept: Option[RunTimeOrder] = None

  /** Relations that have at least one of these columns. */
  def relationsOf(found: Set[ExprId]): Set[Int] = columns.indices.filter(i => columns(i).exists(found)).toSet
}

object GroupAtRun {
  private val Tag = TreeNodeTag[Vector[GroupAtRun]]("dovetail.groups")

  /** For each relation, the columns that any of its operators has and no other relation has. */
  def columnsOf(relations: Vector[LogicalPlan]): Vector[Set[ExprId]] =
    distinct(relations.map(_.collect { case p => p.output.map(_.exprId) }.flatten.toSet))

  /** Removes the columns that several relations have: they do not identify a relation. */
  def distinct(columns: Vector[Set[ExprId]]): Vector[Set[ExprId]] = {
    val seen    = mutable.HashSet.empty[ExprId]
    val several = columns.flatMap(_.filterNot(seen.add))
    if (several.isEmpty) columns else columns.map(_ -- several)
  }

  /**
   * Adds the groups to the tags of the plan's joins. Joins of subqueries merged into the plan may have tags already.
   */
  def mark(plan: LogicalPlan, groups: Vector[GroupAtRun]): Unit = if (groups.nonEmpty) plan.foreach {
    case j: Join => j.setTagValue(Tag, j.getTagValue(Tag).getOrElse(Vector.empty) ++ groups)
    case _       => ()
  }

  /** The groups on the joins of a logical plan, the newest first. */
  def of(plan: LogicalPlan): Vector[GroupAtRun] =
    plan.collect { case j: Join => j.getTagValue(Tag).getOrElse(Vector.empty) }.flatten.distinct.reverse.toVector

  /** The groups of a plan that has run, from the plan that adaptive execution started with. */
  private def of(plan: SparkPlan): Vector[GroupAtRun] = plan match {
    case a: AdaptiveSparkPlanExec => of(a.initialPlan)
    case p                        =>
      p.logicalLink.toVector.flatMap(_.getTagValue(Tag).getOrElse(Vector.empty)) ++
        (p.children ++ p.subqueries).flatMap(of(_: SparkPlan))
  }

  /** Adds to a group's report what happened to its joins while the query ran. */
  def report(plan: SparkPlan): GroupReport => GroupReport = {
    val changed                               = newOrders(plan)
    val kept                                  = of(plan).distinct.flatMap(_.kept)
    def here(g: GroupReport, o: RunTimeOrder) = g.relations.exists(_.columns.exists(o.columns))
    group => {
      val found = changed.filter(here(group, _))
      group.copy(atRun = if (found.nonEmpty) found else kept.filter(here(group, _)).lastOption.toVector)
    }
  }

  /** Orders that were chosen at run time, from the final plan. */
  def newOrders(plan: SparkPlan): Vector[RunTimeOrder] = ordersIn(plan).distinct

  private def ordersIn(plan: SparkPlan): Vector[RunTimeOrder] = plan match {
    case a: AdaptiveSparkPlanExec => ordersIn(a.executedPlan)
    case s: QueryStageExec        => ordersIn(s.plan)
    case p                        =>
      p.logicalLink.flatMap(RunTimeOrder.of).toVector ++ (p.children ++ p.subqueries).flatMap(ordersIn)
  }
}

/**
 * A decision about a chain of joins, made while its query ran.
 *
 * @param columns  columns of the chain's relations
 * @param planned  the planned order; None if nothing could be decided
 * @param order    the new order; None if the planned order was kept
 * @param reason   reason for the decision
 * @param joins    joins of the new order
 * @param replaced sets of relations that the planned order would have joined
 * @param counted  sets of relations whose rows had been counted
 * @param number   number of the decision in this JVM: later decisions know more; 0 if the planned order was kept
 */
final case class RunTimeOrder(
    columns: Set[ExprId],
    planned: Option[String],
    order: Option[String],
    reason: String,
    joins: Vector[JoinReport] = Vector.empty,
    replaced: Set[Set[String]] = Set.empty,
    counted: Set[Set[Int]] = Set.empty,
    number: Long = 0L
)

object RunTimeOrder {
  private val Tag = TreeNodeTag[RunTimeOrder]("dovetail.order at run time")

  def of(plan: LogicalPlan): Option[RunTimeOrder] = plan.getTagValue(Tag)

  def mark(join: Join, order: RunTimeOrder): Unit = join.setTagValue(Tag, order)
}
