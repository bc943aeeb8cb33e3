package org.apache.spark.sql.dovetail.leaf

import scala.util.control.NonFatal

import dovetail.kernel.cost.BroadcastMemory
import dovetail.kernel.profile.{Estimate, RelationProfile}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Spark's own decision to broadcast an input, by Spark's own size: the decision that Spark will make when it plans the
 * join.
 */
object SparkBroadcast {

  /** @param threshold largest size of a broadcast in bytes; negative: never */
  def apply(input: LogicalPlan, threshold: Long): Boolean = threshold >= 0L && bytes(input) <= threshold.toDouble

  /** Spark's own size of an input; infinite if Spark finds none. */
  def bytes(input: LogicalPlan): Double =
    try PublishedRelations.asPlanned(input).stats.sizeInBytes.toDouble
    catch { case NonFatal(_) | _: MatchError => Double.PositiveInfinity }

  /**
   * Most bytes of memory that a broadcast of the input takes; None if nobody knows. Spark decides by the bytes of
   * files, which may be compressed a hundredfold. In another order, Spark might broadcast an input that it does not
   * broadcast in the written order.
   */
  def bound(input: LogicalPlan, profile: RelationProfile): Option[Double] =
    Some(BroadcastMemory.bound(profile, input.output.map(_.exprId.id))).filter(_ < Estimate.Ceiling)
}
