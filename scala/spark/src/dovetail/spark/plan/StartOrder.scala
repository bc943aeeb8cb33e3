package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.predicates.TotalExpression
import org.apache.spark.sql.types.{DoubleType, FloatType}

/**
 * Which of two joined inputs stands on the left.
 *
 * Adaptive execution starts inputs from left to right, and ends the query as soon as one of them turns out to be empty;
 * a merge of sorted buckets does not read its right side when the left one is empty. An input that fails on some row
 * (`'ab' RLIKE pattern`, a division, a user's function) may therefore never be computed as it was written. A join order
 * of ours must not compute it earlier: inputs that may throw come last, in the order they were written in.
 */
final class StartOrder(leaves: Vector[LogicalPlan]) {

  private lazy val throwing: Set[Int] = leaves.indices.filter(i => StartOrder.mayThrow(leaves(i))).toSet

  /** Whether the right one of two inner joined inputs has to become the left one. */
  def swaps(left: Shape, right: Shape): Boolean = throwing.nonEmpty && last(left) > last(right)

  private def last(shape: Shape): Int = shape.leaves.filter(throwing).reduceOption(_ max _).getOrElse(-1)
}

object StartOrder {

  private def mayThrow(plan: LogicalPlan): Boolean = plan.exists(_.expressions.exists(throws))

  /** Whether evaluating it may, or the aggregate functions in it. */
  def throws(expression: Expression): Boolean = expression.exists(e => !TotalExpression(e) && !totalAggregate(e))

  private def totalAggregate(e: Expression): Boolean = e match {
    case _: AggregateExpression | _: Count | _: Min | _: Max | _: First | _: Last => true
    case s: Sum                                                                   => floating(s.child)
    case a: Average                                                               => floating(a.child)
    case _                                                                        => false
  }

  private def floating(e: Expression): Boolean = e.dataType == DoubleType || e.dataType == FloatType
}
