package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, ScalarSubquery}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.predicates.TotalExpression
import org.apache.spark.sql.types._

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

  private lazy val throwing: Set[Int] = leaves.indices.filter(i => StartOrder.mayThrow(leaves(i))).toSet

  /** Whether the two inputs of an inner join must be swapped. */
  def swaps(left: Shape, right: Shape): Boolean = throwing.nonEmpty && last(left) > last(right)

  private def last(shape: Shape): Int = shape.leaves.filter(throwing).reduceOption(_ max _).getOrElse(-1)
}

object StartOrder {

  private def mayThrow(plan: LogicalPlan): Boolean =
    plan.exists(p => p.expressions.exists(throws) || FailingOperator(p).isDefined)

  /** Whether evaluating the expression, or an aggregate function in it, may throw. */
  def throws(expression: Expression): Boolean = expression.exists(e => ofRows(e) || fails(e))

  /** The same without scalar subqueries, which fail or not whatever rows the expression is evaluated on. */
  def throwsOnRows(expression: Expression): Boolean = expression.exists(ofRows)

  private def ofRows(e: Expression): Boolean = !e.isInstanceOf[Alias] && !TotalExpression(e) && !totalAggregate(e)

  /**
   * Whether a scalar subquery may fail. Spark computes it when its operator starts: it may have too many rows, or
   * throw.
   */
  private def fails(e: Expression): Boolean = e match {
    case s: ScalarSubquery => !s.plan.maxRows.exists(_ <= 1L) || mayThrow(s.plan)
    case _                 => false
  }

  private def totalAggregate(e: Expression): Boolean = e match {
    case _: AggregateExpression | _: Count | _: Min | _: Max | _: First | _: Last => true
    case s: Sum                                                                   => floating(s.child) || roomy(s.child)
    // Spark sums other numbers as doubles
    case a: Average => a.child.dataType match {
        case _: DecimalType => roomy(a.child)
        case t              => t.isInstanceOf[NumericType]
      }
    case _ => false
  }

  /**
   * Whether the type of a sum has ten digits more than its input: to overflow, it takes ten billion rows at the limit
   * of the input's type.
   */
  private def roomy(e: Expression): Boolean = e.dataType match {
    case d: DecimalType                     => d.precision + DigitsOfSum <= DecimalType.MAX_PRECISION
    case ByteType | ShortType | IntegerType => true
    case _                                  => false
  }

  /** Digits that Spark gives a sum of decimals in addition to their own. A sum of INT has nine more. */
  private val DigitsOfSum = 10

  private def floating(e: Expression): Boolean = e.dataType == DoubleType || e.dataType == FloatType
}
