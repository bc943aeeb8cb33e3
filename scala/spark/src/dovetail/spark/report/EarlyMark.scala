package org.apache.spark.sql.dovetail.report

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec

/**
 * Marks groupings that Dovetail has put below joins, to distinguish them from the query's own. Operators above such a
 * grouping have fewer rows than a join of the relations below them, so their row counts must not be used for that join.
 */
object EarlyMark {
  private val Tag = TreeNodeTag[Unit]("dovetail.early grouping")

  def apply(grouping: Aggregate): Aggregate = { grouping.setTagValue(Tag, ()); grouping }

  def isOn(plan: LogicalPlan): Boolean = plan.getTagValue(Tag).isDefined

  /** Whether the operator is one of those that Spark's planner makes of a marked grouping. */
  def isOn(plan: SparkPlan): Boolean = plan match {
    case a: BaseAggregateExec => a.logicalLink.exists(isOn(_: LogicalPlan))
    case _                    => false
  }
}
