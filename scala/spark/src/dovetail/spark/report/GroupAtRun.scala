package org.apache.spark.sql.dovetail.report

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}

/**
 * A group of joins whose order is Dovetail's to choose, while its query runs: a tag on the joins of the optimized plan,
 * which Spark takes along into adaptive execution. Joins find their relations by columns, as in [[ActualRows]].
 *
 * @param names   of the relations
 * @param columns of each relation that no other one has
 */
final class GroupAtRun(val names: Vector[String], val columns: Vector[Set[ExprId]]) {

  /** What was found while the plan kept its order; the last word of the last run. */
  @volatile var kept: Option[RunTimeOrder] = None

  /** Relations that have some of these columns. */
  def relationsOf(found: Set[ExprId]): Set[Int] = columns.indices.filter(i => columns(i).exists(found)).toSet
}

object GroupAtRun {
  private val Tag = TreeNodeTag[Vector[GroupAtRun]]("dovetail.groups")

  /** Columns that any operator of a relation has, and of no other relation. */
  def columnsOf(relations: Vector[LogicalPlan]): Vector[Set[ExprId]] =
    distinct(relations.map(_.collect { case p => p.output.map(_.exprId) }.flatten.toSet))

  /** A column that several relations have tells nothing. */
  def distinct(columns: Vector[Set[ExprId]]): Vector[Set[ExprId]] = {
    val several = columns.flatten.groupBy(identity).collect { case (id, in) if in.size > 1 => id }.toSet
    if (several.isEmpty) columns else columns.map(_ -- several)
  }

  /** Beside those of subqueries that have become a part of the plan. */
  def mark(plan: LogicalPlan, groups: Vector[GroupAtRun]): Unit = if (groups.nonEmpty) plan.foreach {
    case j: Join => j.setTagValue(Tag, j.getTagValue(Tag).getOrElse(Vector.empty) ++ groups)
    case _       => ()
  }

  /** The newest first. */
  def of(plan: LogicalPlan): Vector[GroupAtRun] =
    plan.collect { case j: Join => j.getTagValue(Tag).getOrElse(Vector.empty) }.flatten.distinct.reverse.toVector

  /** Of a plan that has run, as it was planned at first. */
  private def of(plan: SparkPlan): Vector[GroupAtRun] = plan match {
    case a: AdaptiveSparkPlanExec => of(a.initialPlan)
    case p                        =>
      p.logicalLink.toVector.flatMap(_.getTagValue(Tag).getOrElse(Vector.empty)) ++
        (p.children ++ p.subqueries).flatMap(of(_: SparkPlan))
  }

  /** What happened to a group's joins while its query ran. */
  def report(plan: SparkPlan): GroupReport => GroupReport = {
    val changed                               = newOrders(plan)
    val kept                                  = of(plan).distinct.flatMap(_.kept)
    def here(g: GroupReport, o: RunTimeOrder) = g.relations.exists(_.columns.exists(o.columns))
    group => {
      val found = changed.filter(here(group, _))
      group.copy(atRun = if (found.nonEmpty) found else kept.filter(here(group, _)).lastOption.toVector)
    }
  }

  /** New orders in the plan that ran at last. */
  def newOrders(plan: SparkPlan): Vector[RunTimeOrder] = ordersIn(plan).distinct

  private def ordersIn(plan: SparkPlan): Vector[RunTimeOrder] = plan match {
    case a: AdaptiveSparkPlanExec => ordersIn(a.executedPlan)
    case s: QueryStageExec        => ordersIn(s.plan)
    case p                        =>
      p.logicalLink.flatMap(RunTimeOrder.of).toVector ++ (p.children ++ p.subqueries).flatMap(ordersIn)
  }
}

/**
 * What was decided about a chain of joins while its query ran.
 *
 * @param columns  of the chain's relations
 * @param planned  the order as planned; none where nothing could be decided
 * @param order    the order that is used, where it is another one
 * @param reason   why
 * @param joins    of the new order
 * @param replaced sets of relations that the planned order would have joined
 */
final case class RunTimeOrder(
    columns: Set[ExprId],
    planned: Option[String],
    order: Option[String],
    reason: String,
    joins: Vector[JoinReport] = Vector.empty,
    replaced: Set[Set[String]] = Set.empty
)

object RunTimeOrder {
  private val Tag = TreeNodeTag[RunTimeOrder]("dovetail.order at run time")

  def of(plan: LogicalPlan): Option[RunTimeOrder] = plan.getTagValue(Tag)

  def mark(join: Join, order: RunTimeOrder): Unit = join.setTagValue(Tag, order)
}
