package org.apache.spark.sql.dovetail

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}

/** Plans of queries that have run, with all that adaptive execution has changed. */
trait FinalPlans { this: DovetailSuite =>

  /** The operators of the final plan, after the query has run. */
  protected def ran(sql: String): Seq[SparkPlan] = {
    val execution = spark.sql(sql).queryExecution
    DovetailSuite.answer(execution)
    operators(execution.executedPlan)
  }

  private def operators(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case a: AdaptiveSparkPlanExec => operators(a.executedPlan)
    case s: QueryStageExec        => operators(s.plan)
    case p                        => p +: p.children.flatMap(operators)
  }
}
