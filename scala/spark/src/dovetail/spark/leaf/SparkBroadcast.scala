package org.apache.spark.sql.dovetail.leaf

import dovetail.kernel.cost.BroadcastMemory
import dovetail.kernel.profile.{Estimate, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable

/**
 * Spark's own decision to broadcast an input, by Spark's own size: the decision that Spark will make when it plans the
 * join.
 */
object SparkBroadcast {

  /** @param threshold largest size of a broadcast in bytes; negative: never */
  def apply(input: LogicalPlan, threshold: Long): Boolean = threshold >= 0L && bytes(input) <= threshold.toDouble

  /**
   * The same for a side of a join. Below EXISTS and IN, a table still has all of its columns: Spark removes those that
   * the condition does not read after Dovetail's rule.
   */
  def ofSide(j: Join, side: LogicalPlan, threshold: Long): Boolean = {
    val read = j.joinType match {
      case LeftSemi | LeftAnti | _: ExistenceJoin if side eq j.right => reading(side, j.references)
      case _                                                         => side
    }
    apply(read, threshold)
  }

  /** An input as it is when only these columns of it are read. */
  def reading(input: LogicalPlan, columns: AttributeSet): LogicalPlan = {
    val read = input.output.filter(columns.contains)
    if (read.size < input.output.size) Project(read, input) else input
  }

  /** Spark's own size of an input; infinite if Spark finds none. */
  def bytes(input: LogicalPlan): Double =
    try PublishedRelations.asPlanned(input).stats.sizeInBytes.toDouble
    catch { case Survivable(_) => Double.PositiveInfinity }

  /**
   * Most bytes of memory that a broadcast of the input takes; None if nobody knows. Spark decides by the bytes of
   * files, which may be compressed a hundredfold. In another order, Spark might broadcast an input that it does not
   * broadcast in the written order.
   */
  def bound(input: LogicalPlan, profile: RelationProfile): Option[Double] =
    Some(BroadcastMemory.bound(profile, input.output.map(_.exprId.id))).filter(_ < Estimate.Ceiling)
}
