package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Subquery}
import org.apache.spark.sql.dovetail.group.JoinGroup

/**
 * How the groups of joins of a plan share the time that is left for searching: each gets the part that its joins are of
 * those not ordered yet, so that the first of many large groups does not take it all. Of the query that a subquery
 * stands in we know nothing yet: half of the time is left to it.
 */
final class SearchShares(plan: LogicalPlan) {
  private val part = if (plan.isInstanceOf[Subquery]) SearchShares.OfSubquery else 1.0
  private var left = plan.collect { case j: Join => j }.size

  /** Share of the time that is left, for a group whose turn it is. */
  def nextShare(group: JoinGroup): Double = {
    val joins = group.leaves.size - 1
    val share = math.min(1.0, joins / math.max(left, 1).toDouble)
    left -= joins
    part * share
  }
}

private object SearchShares {
  val OfSubquery = 0.5
}
