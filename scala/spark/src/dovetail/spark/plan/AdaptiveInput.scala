package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.execution.adaptive.{
  BroadcastQueryStageExec,
  LogicalQueryStage => AdaptiveStage,
  QueryStageExec,
  ShuffleQueryStageExec
}

/** What adaptive execution has done with an input of a join of a running query. */
object AdaptiveInput {

  /** The stage of the input, if it is complete. */
  def complete(plan: LogicalPlan): Option[QueryStageExec] = stage(plan).filter(_.isMaterialized)

  /**
   * Whether the input is a complete exchange, whose rows Spark has measured. The scan of a cached relation is a stage,
   * too, but its size is that of compressed columns.
   */
  def isExchanged(plan: LogicalPlan): Boolean = complete(plan).exists {
    case _: ShuffleQueryStageExec | _: BroadcastQueryStageExec => true
    case _                                                     => false
  }

  /** Whether the input is broadcast, or about to be. */
  def isBroadcast(plan: LogicalPlan): Boolean = stage(plan).exists(_.isInstanceOf[BroadcastQueryStageExec])

  /** The leaves of a plan as they were planned, before stages took their place. */
  def plannedLeaves(plan: LogicalPlan): Seq[LeafNode] = plan.collectLeaves().flatMap {
    case s: AdaptiveStage => plannedLeaves(s.logicalPlan)
    case l: LeafNode      => Seq(l)
    case _                => Nil
  }

  private def stage(plan: LogicalPlan): Option[QueryStageExec] = plan match {
    case s: AdaptiveStage => s.physicalPlan match { case q: QueryStageExec => Some(q); case _ => None }
    case _                => None
  }
}
