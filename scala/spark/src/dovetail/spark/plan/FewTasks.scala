package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Tells whether joins run in the few tasks of a `coalesce` above them, as in `df.coalesce(1).write`: without an
 * exchange between them, Spark runs everything down to the next exchange in these tasks.
 *
 * Where plain Spark exchanges both inputs of a join, all cores read and filter them, and only the join runs in the few
 * tasks. A broadcast of Dovetail's choice would take this exchange away, and with it the scan of the largest table
 * would run in one task. So Dovetail chooses no broadcasts in such a plan ([[Planner]]); Spark's own stay.
 */
object FewTasks {

  /** @param all number of tasks that run at a time */
  def apply(plan: LogicalPlan, all: => Int): Boolean = plan.exists {
    case r: Repartition => !r.shuffle && reachesJoin(r.child) && r.numPartitions < all
    case _              => false
  }

  /** Whether a join is below, with no exchange between. */
  private def reachesJoin(plan: LogicalPlan): Boolean = plan match {
    case _: Join => true
    case s: Sort => !s.global && reachesJoin(s.child)
    case other   => NeededRows.streams(other) && other.children.exists(reachesJoin)
  }
}
