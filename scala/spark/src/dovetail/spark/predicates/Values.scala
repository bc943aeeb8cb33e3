package org.apache.spark.sql.dovetail.predicates

import java.time.ZoneOffset

import org.apache.spark.sql.catalyst.util.{DateTimeUtils, TimestampFormatter}
import org.apache.spark.sql.types._

/**
 * Converts Catalyst's internal values to places on the number line that estimates use, and back to text for people.
 *
 * A type that is not listed has no place on the number line, and raises no error. Spark's own EstimationUtils throws a
 * MatchError for TIMESTAMP_NTZ and intervals.
 */
object Values {

  /** The value as a number; None for strings, binaries and nested types. */
  def number(value: Any): Option[Double] = value match {
    case b: Boolean              => Some(if (b) 1.0 else 0.0)
    case d: Decimal              => Some(d.toDouble)
    case d: java.math.BigDecimal => Some(d.doubleValue)
    // all types from Byte to Double; dates are days, timestamps of both kinds and day-time intervals are microseconds,
    // year-month intervals are months
    case n: java.lang.Number => Some(n.doubleValue).filterNot(_.isNaN)
    case _                   => None
  }

  /** Whether values of the type have a place on the number line. */
  def ordered(dataType: DataType): Boolean = dataType match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType => true
    case _: DayTimeIntervalType | _: YearMonthIntervalType                          => true
    case _                                                                          => false
  }

  def render(value: Double, dataType: DataType): String = dataType match {
    case BooleanType                      => (value != 0.0).toString
    case DateType                         => DateTimeUtils.daysToLocalDate(value.toInt).toString
    case TimestampType | TimestampNTZType =>
      TimestampFormatter.getFractionFormatter(ZoneOffset.UTC).format(value.toLong)
    case _: IntegralType               => value.toLong.toString
    case d: DecimalType if d.scale > 0 => BigDecimal(value).setScale(d.scale, BigDecimal.RoundingMode.HALF_UP).toString
    case _: DecimalType                => BigDecimal(value).toBigInt.toString
    case _                             => value.toString
  }
}
