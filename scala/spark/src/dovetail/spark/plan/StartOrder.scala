package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, ScalarSubquery}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.predicates.TotalExpression
import org.apache.spark.sql.types._

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
  def throws(expression: Expression): Boolean =
    expression.exists(e => !e.isInstanceOf[Alias] && (!TotalExpression(e) && !totalAggregate(e) || fails(e)))

  /** A subquery is computed when its operator starts: it may have too many rows, or throw. */
  private def fails(e: Expression): Boolean = e match {
    case s: ScalarSubquery => !s.plan.maxRows.exists(_ <= 1L) || mayThrow(s.plan)
    case _                 => false
  }

  private def totalAggregate(e: Expression): Boolean = e match {
    case _: AggregateExpression | _: Count | _: Min | _: Max | _: First | _: Last => true
    case s: Sum                                                                   => floating(s.child) || roomy(s.child)
    // other numbers are summed as doubles
    case a: Average => a.child.dataType match {
        case _: DecimalType => roomy(a.child)
        case t              => t.isInstanceOf[NumericType]
      }
    case _ => false
  }

  /**
   * The sum of numbers of ten digits more than they have: what overflows has ten billion rows at the end of its type.
   */
  private def roomy(e: Expression): Boolean = e.dataType match {
    case d: DecimalType                     => d.precision + DigitsOfSum <= DecimalType.MAX_PRECISION
    case ByteType | ShortType | IntegerType => true
    case _                                  => false
  }

  /** Digits that Spark gives a sum of decimals beside their own; a sum of INT has nine more. */
  private val DigitsOfSum = 10

  private def floating(e: Expression): Boolean = e.dataType == DoubleType || e.dataType == FloatType
}
