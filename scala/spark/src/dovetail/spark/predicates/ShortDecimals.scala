package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Cast, Divide, Expression, MakeDecimal, UnscaledValue}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction, Average, Sum}
import org.apache.spark.sql.types.{Decimal, DecimalType}

/**
 * Sums and averages of decimals with few digits, in the form that Spark's rule `DecimalAggregates` gives them: they
 * aggregate whole numbers, and the result is made a decimal again. That fails no more than the function that the query
 * wrote: the new type has room for the sum of ten billion rows, and for the average of any.
 */
object ShortDecimals {

  /** Digits that Spark gives a sum of decimals in addition to their own. */
  val DigitsOfSum = 10

  /** Whether the expression makes the result of such a function a decimal. */
  def isResult(e: Expression): Boolean = e match {
    case m: MakeDecimal => function(m.child) match {
        case Some(s: Sum) => whole(s.child).exists(_.precision + DigitsOfSum <= m.precision)
        case _            => false
      }
    case c: Cast => (c.child, c.dataType) match {
        case (d: Divide, to: DecimalType) => function(d.left) match {
            case Some(a: Average) => whole(a.child).exists(t => t.precision - t.scale <= to.precision - to.scale)
            case _                => false
          }
        case _ => false
      }
    case _ => false
  }

  /** Whether a function's input is such a whole number, and a sum of ten billion of them fits into a BIGINT. */
  def isSummed(input: Expression): Boolean = whole(input).exists(_.precision + DigitsOfSum <= Decimal.MAX_LONG_DIGITS)

  private def function(e: Expression): Option[AggregateFunction] = e match {
    case a: AggregateExpression => Some(a.aggregateFunction)
    case _                      => None
  }

  /** Type of the decimal whose digits are the whole number. */
  private def whole(e: Expression): Option[DecimalType] = e match {
    case u: UnscaledValue => Some(u.child.dataType).collect { case d: DecimalType => d }
    case _                => None
  }
}
