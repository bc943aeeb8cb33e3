package org.apache.spark.sql.dovetail.stats

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LeafNode, LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.trees.TreePattern.CAST
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.TimeColumns

/**
 * Finds the columns of a plan that no conversion between dates and timestamps overflows ([[TimeColumns]]): all footers
 * of the table are known, and so is the range of the column in each file. A plan without such a conversion costs a look
 * at its expressions.
 */
object TimeRanges {

  def learn(plan: LogicalPlan, statistics: PlanStatistics): Unit = {
    val all   = AttributeSet(converted(plan))
    val mixed = if (all.isEmpty) all else AttributeSet(plan.flatMap(unitedBy)).filter(all.contains)
    // another plan of the query may have had the values of one input only under this identity
    mixed.foreach(TimeColumns.remove)
    val asked  = all -- mixed
    val leaves = if (asked.isEmpty) Nil else plan.collectLeaves().collect { case l: LeafNode => l }
    if (leaves.size >= LeastInputs)
      for (leaf <- leaves; column <- leaf.output if asked.contains(column)) {
        PlanningTime.check()
        if (
          TimeColumns.range(column.dataType).exists { case (low, high) => statistics.within(leaf, column, low, high) }
        )
          TimeColumns.add(column)
      }
  }

  /** Columns that have the values of several inputs under the identity of the first one, as those of UNION do. */
  private def unitedBy(plan: LogicalPlan): Seq[Attribute] = plan match {
    case _: Join | _: LeafNode | _: UnaryNode => Nil
    case several                              => several.output
  }

  private def converted(plan: LogicalPlan): Seq[Attribute] =
    if (!plan.containsPattern(CAST)) Nil
    else plan.flatMap(_.expressions).flatMap(_.collect(Function.unlift(TimeColumns.converted)))

  /** Fewest inputs of a plan that has more than one order: for others, no file is opened. */
  private val LeastInputs = 3
}
