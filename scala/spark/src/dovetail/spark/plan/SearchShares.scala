package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Subquery}
import org.apache.spark.sql.dovetail.group.JoinGroup

/**
 * Divides the time that is left for searching among the join groups of a plan. Each group gets a share in proportion to
 * its number of joins among the joins that are not ordered yet, so that the first of many large groups does not take
 * all the time. When the rule runs on a subquery, the outer query is not known yet, so half of the time is left to it.
 */
final class SearchShares(plan: LogicalPlan) {
  private val part = if (plan.isInstanceOf[Subquery]) SearchShares.OfSubquery else 1.0
  private var left = plan.collect { case j: Join => j }.size

  /** Share of the remaining time for the next group. */
  def nextShare(group: JoinGroup): Double = {
    val joins = group.leaves.size - 1
    val share = math.min(1.0, joins / math.max(left, 1).toDouble)
    left -= joins
    part * share
  }
}

private object SearchShares {

  /** Share of the time that the groups of a subquery get: the other half is for the outer query, which comes later. */
  val OfSubquery = 0.5
}
