package org.apache.spark.sql.dovetail.report

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec

/**
 * Tells a grouping that Dovetail has put below joins from the query's own: above it, operators have fewer rows than the
 * relations below them would make, and nobody may take their counts for these.
 */
object EarlyMark {
  private val Tag = TreeNodeTag[Unit]("dovetail.early grouping")

  def apply(grouping: Aggregate): Aggregate = { grouping.setTagValue(Tag, ()); grouping }

  def isOn(plan: LogicalPlan): Boolean = plan.getTagValue(Tag).isDefined

  /** One of the operators that the planner makes of it. */
  def isOn(plan: SparkPlan): Boolean = plan match {
    case a: BaseAggregateExec => a.logicalLink.exists(isOn(_: LogicalPlan))
    case _                    => false
  }
}
