package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Alias, Explode, Expression, PosExplode, ScalarSubquery}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types._

/** Whether a plan may fail when it runs: in an expression, in an operator, or in a scalar subquery of an expression. */
object FailingPlan {

  def apply(plan: LogicalPlan): Boolean =
    plan.exists(p => p.expressions.exists(throws) || FailingOperator(p).isDefined)

  /** Whether evaluating the expression, or an aggregate function in it, may throw. */
  def throws(expression: Expression): Boolean = GuardedDivision(expression).exists(e => ofRows(e) || fails(e))

  /** The same without scalar subqueries, which fail or not whatever rows the expression is evaluated on. */
  def throwsOnRows(expression: Expression): Boolean = GuardedDivision(expression).exists(ofRows)

  private def ofRows(e: Expression): Boolean =
    !e.isInstanceOf[Alias] && !TotalExpression(e) && !totalAggregate(e) && !ShortDecimals.isResult(e) && !unpacks(e)

  /** Whether the expression makes a row of each element of an array or a map. */
  private def unpacks(e: Expression): Boolean = e.isInstanceOf[Explode] || e.isInstanceOf[PosExplode]

  /**
   * Whether a scalar subquery may fail. Spark computes it when its operator starts: it may have too many rows, or
   * throw.
   */
  def fails(e: Expression): Boolean = e match {
    case s: ScalarSubquery => !s.plan.maxRows.exists(_ <= 1L) || apply(s.plan)
    case _                 => false
  }

  private def totalAggregate(e: Expression): Boolean = e match {
    case _: AggregateExpression | _: Count | _: Min | _: Max | _: First | _: Last => true
    // standard deviations and variances compute with doubles
    case _: CentralMomentAgg | _: MaxMinBy | _: HyperLogLogPlusPlus => true
    case s: Sum => floating(s.child) || roomy(s.child) || ShortDecimals.isSummed(s.child)
    // Spark sums other numbers as doubles
    case a: Average => a.child.dataType match {
        case _: DecimalType => roomy(a.child)
        case t              => t.isInstanceOf[NumericType]
      }
    case _ => false
  }

  /**
   * Whether the type of a sum has ten digits more than its input: to overflow, it takes ten billion rows at the limit
   * of the input's type. A sum of INT has nine more.
   */
  private def roomy(e: Expression): Boolean = e.dataType match {
    case d: DecimalType                     => d.precision + ShortDecimals.DigitsOfSum <= DecimalType.MAX_PRECISION
    case ByteType | ShortType | IntegerType => true
    case _                                  => false
  }

  private def floating(e: Expression): Boolean = e.dataType == DoubleType || e.dataType == FloatType
}
