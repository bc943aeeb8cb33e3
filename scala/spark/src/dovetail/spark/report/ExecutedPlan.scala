package org.apache.spark.sql.dovetail.report

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}

/** A plan that has run, or runs. */
object ExecutedPlan {

  /** The operator itself, where adaptive execution has put a stage or a plan of its own in its place. */
  def operator(p: SparkPlan): SparkPlan = p match {
    case a: AdaptiveSparkPlanExec => operator(a.executedPlan)
    case q: QueryStageExec        => operator(q.plan)
    case other                    => other
  }
}
