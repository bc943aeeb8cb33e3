package org.apache.spark.sql.dovetail.leaf

import scala.util.control.NonFatal

import dovetail.kernel.cost.BroadcastMemory
import dovetail.kernel.profile.{Estimate, RelationProfile}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Spark's own decision to broadcast an input, by Spark's own size: the one that will be made when the join is planned.
 */
object SparkBroadcast {

  /** @param threshold bytes; negative: never */
  def apply(input: LogicalPlan, threshold: Long): Boolean = threshold >= 0L && bytes(input) <= threshold.toDouble

  /** Spark's own size of an input; endless where Spark finds none. */
  def bytes(input: LogicalPlan): Double =
    try Published.asPlanned(input).stats.sizeInBytes.toDouble
    catch { case NonFatal(_) | _: MatchError => Double.PositiveInfinity }

  /**
   * The input takes more memory than there is for a broadcast: Spark goes by bytes of files, which may be compressed a
   * hundredfold. In another order Spark might broadcast it where in the written one it does not.
   *
   * @param limit bytes of memory
   */
  def isHeavy(input: LogicalPlan, profile: RelationProfile, limit: Double): Boolean = {
    val columns = input.output.map(_.exprId.id)
    val bound   = BroadcastMemory.bound(profile, columns)
    if (bound < Estimate.Ceiling) bound > limit else profile.bytes(columns) > limit
  }
}
