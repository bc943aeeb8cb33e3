package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.execution.adaptive.{CostEvaluator, SimpleCostEvaluator}
import org.apache.spark.sql.internal.SQLConf

/** Spark's own comparison of the plans of a running query. Spark 4.3 may also count local sorts. */
private[dovetail] object SparkCosts {
  def apply(conf: SQLConf): CostEvaluator = SimpleCostEvaluator(
    conf.getConf(SQLConf.ADAPTIVE_FORCE_OPTIMIZE_SKEWED_JOIN),
    conf.costEvaluatorCountLocalSortEnabled
  )
}
