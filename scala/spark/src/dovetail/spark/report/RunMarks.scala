package org.apache.spark.sql.dovetail.report

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.command.DataWritingCommandExec
import org.apache.spark.sql.execution.datasources.v2.V2TableWriteExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ShuffleExchangeLike}

/**
 * Tells whether the metrics of an executed plan are those of its first run.
 *
 * A second action on a DataFrame runs the same physical plan again. Spark then resets the metrics, but it does not run
 * exchanges a second time, so the metrics at and below them stay 0. Spark reports a run to its listeners some time
 * after the end of the run, and a second action may have started by then.
 *
 * Some metrics are marks: an operator sets them once, when it starts for the first time, and never to 0. A mark of 0
 * shows that the metrics were reset. It also occurs if an input had no files; then the run is not counted either.
 */
private[report] object RunMarks {

  /** Whether no metric was reset. */
  def isFirstRun(plan: SparkPlan): Boolean = marks(plan, lastStage = false).forall(_ > 0L)

  /**
   * Whether a reset of the last stage would be seen. Adaptive execution does not reset the metrics of the stages before
   * it, so only a mark in the last stage shows that this stage was reset.
   */
  def coverLastStage(plan: SparkPlan): Boolean = marks(plan, lastStage = true).nonEmpty

  /**
   * Whether a write has certainly run its query. Spark reports a write that has skipped its target like one that ran,
   * with its earlier stages complete.
   */
  def hasWritten(plan: SparkPlan): Boolean = ExecutedPlan.operator(plan) match {
    case w: DataWritingCommandExec => metric(w, "numFiles").exists(_ > 0L)
    case _: V2TableWriteExec       => true
    case p                         => p.children.exists(hasWritten)
  }

  private def marks(plan: SparkPlan, lastStage: Boolean): Vector[Long] = plan match {
    case a: AdaptiveSparkPlanExec => a.executedPlan match {
        // from Spark 4.0 on, the last stage has an operator of its own, too
        case s: QueryStageExec => marks(s.plan, lastStage)
        case other             => marks(other, lastStage)
      }
    case s: QueryStageExec => if (lastStage) Vector.empty else marks(s.plan, lastStage)
    case p                 =>
      val children = if (p.isInstanceOf[ReusedSubqueryExec]) Nil else p.children
      // subqueries run on their own, and are not reset with the last stage
      val others = if (lastStage) Nil else p.subqueries
      markOf(p).toVector ++ (children ++ others).flatMap(marks(_, lastStage))
  }

  private def markOf(p: SparkPlan): Option[Long] = p match {
    case _: FileSourceScanExec                          => metric(p, "numFiles")
    case _: ShuffleExchangeLike | _: AQEShuffleReadExec => metric(p, "numPartitions")
    // the size of an empty broadcast is 0, but collecting it took some time
    case _: BroadcastExchangeLike if p.metrics.nonEmpty => Some(p.metrics.values.map(_.value).max)
    case _                                              => None
  }

  private def metric(p: SparkPlan, name: String): Option[Long] = p.metrics.get(name).map(_.value)
}
