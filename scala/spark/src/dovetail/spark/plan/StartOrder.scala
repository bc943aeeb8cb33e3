package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.predicates.FailingPlan

/**
 * Decides which of two joined inputs is on the left.
 *
 * Adaptive execution starts inputs from left to right, and ends the query as soon as one of them turns out to be empty.
 * A merge join of sorted buckets does not read its right side if the left one is empty. So an input that fails on some
 * row (`'ab' RLIKE pattern`, a division, a user's function, a malformed record) may never be computed in the written
 * query. A new join order must not compute it earlier: inputs that may throw come last, in the order in which they were
 * written.
 */
final class StartOrder(leaves: Vector[LogicalPlan]) {

  private lazy val throwing: Set[Int] = leaves.indices.filter(i => FailingPlan(leaves(i))).toSet

  /** Whether the two inputs of an inner join must be swapped. */
  def swaps(left: Shape, right: Shape): Boolean = throwing.nonEmpty && last(left) > last(right)

  private def last(shape: Shape): Int = shape.leaves.filter(throwing).reduceOption(_ max _).getOrElse(-1)
}
