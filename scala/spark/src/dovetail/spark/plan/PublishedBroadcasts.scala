package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.BroadcastMemory
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.leaf.{PublishedRelation, SparkBroadcast}
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage => AdaptiveStage, QueryStageExec}

/**
 * Broadcasts that only our statistics make Spark choose, and that may take more memory than there is for one: Spark
 * goes by an estimate (of its own CBO, from our rows and columns; of a projection, by the types of its columns), a
 * broadcast of ours by a bound. Such a side is not broadcast until it has been computed.
 */
final class PublishedBroadcasts(session: SparkSession) {

  /** Sides that Spark is to be kept from broadcasting. */
  def refused(j: Join): Vector[BuildSide] = {
    val threshold = j.conf.autoBroadcastJoinThreshold
    if (threshold < 0L || !DovetailConf.StatsPublish.get(j.conf)) Vector.empty
    else Vector(BuildLeft, BuildRight).filter(side => refused(JoinChoice.input(j, side), threshold))
  }

  private def refused(input: LogicalPlan, threshold: Long): Boolean = SparkBroadcast(input, threshold) && {
    val plain = asSparkSeesIt(input)
    (plain ne input) && !SparkBroadcast(plain, threshold) &&
    FailOpen("bounding a broadcast", (_: String) => true)(!fits(plain))
  }

  /** With the sizes that Spark would have without us. */
  private def asSparkSeesIt(plan: LogicalPlan): LogicalPlan = plan.transform {
    case p: PublishedRelation                          => p.plain
    case s: AdaptiveStage if isRunning(s.physicalPlan) => asSparkSeesIt(s.logicalPlan)
  }

  private def isRunning(plan: Any): Boolean = plan match {
    case q: QueryStageExec => !q.isMaterialized
    case _                 => true
  }

  private def fits(input: LogicalPlan): Boolean = {
    val conf = input.conf
    PlanningTime.ofQuery(conf)(PlanningTime.orNone {
      val profile = PlanStatistics.of(session, conf, input, input)(input)
      BroadcastMemory.bound(profile, input.output.map(_.exprId.id)) <= new Planner(conf, session).broadcastMemory
    }).getOrElse(false)
  }
}
