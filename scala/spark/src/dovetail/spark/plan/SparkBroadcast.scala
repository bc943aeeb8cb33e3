package org.apache.spark.sql.dovetail.plan

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Spark's own decision to broadcast an input, by Spark's own size: the one that will be made when the join is planned. */
object SparkBroadcast {

  /** @param threshold bytes; negative: never */
  def apply(input: LogicalPlan, threshold: Long): Boolean =
    threshold >= 0L &&
      (try input.stats.sizeInBytes <= threshold
      catch { case NonFatal(_) | _: MatchError => false })
}
