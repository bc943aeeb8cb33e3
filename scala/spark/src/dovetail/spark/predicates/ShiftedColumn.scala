package org.apache.spark.sql.dovetail.predicates

import scala.util.Try

import dovetail.kernel.profile.ColumnProfile
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * A column that an expression shifts by a constant, such as `at + INTERVAL 7 DAYS`: its values keep their order and
 * their number, and their range is that of the column, shifted. The ends are what Spark computes for the ends of the
 * column, so every type and unit has its own rules.
 */
private[predicates] object ShiftedColumn {

  /** The profile of `e`; None if it is no such expression, or if the range of its column is unknown. */
  def apply(e: Expression, column: Attribute => Option[ColumnProfile]): Option[ColumnProfile] =
    if (!TrialSafe(e)) None
    else for {
      a    <- shifted(e)
      c    <- column(a)
      low  <- c.min.flatMap(valueAt(e, a, _))
      high <- c.max.flatMap(valueAt(e, a, _)) if low <= high
    } yield c.recoded.copy(min = Some(low), max = Some(high), histogram = None, spread = None)

  private def shifted(e: Expression): Option[Attribute] = e match {
    case a: Attribute                                         => Some(a)
    case c: Cast if new Conditions().column(c).nonEmpty       => shifted(c.child)
    case a: Add if a.left.foldable                            => shifted(a.right)
    case b @ (_: Add | _: Subtract | _: DateAdd | _: DateSub) => ofFirst(b)
    case other if ByInterval(other.getClass.getSimpleName)    => ofFirst(other)
    case _                                                    => None
  }

  private def ofFirst(e: Expression): Option[Attribute] = e.children match {
    case Seq(first, by) if by.foldable => shifted(first)
    case _                             => None
  }

  /** Classes that add an interval to a date or a timestamp, by name: no Spark line has all of them. */
  private val ByInterval = Set(
    "TimeAdd",
    "TimestampAddInterval",
    "TimestampAddYMInterval",
    "DateAddInterval",
    "DateAddYMInterval",
    "AddMonths"
  )

  /** The value of `e` at a value of its column, both as numbers. */
  private def valueAt(e: Expression, a: Attribute, number: Double): Option[Double] = for {
    value  <- internal(number, a.dataType)
    result <- Try(e.transform { case `a` => Literal(value, a.dataType) }.eval()).toOption
    at     <- Values.number(result) if !at.isInfinite
  } yield at

  /** The value of a type at a place on the number line; the inverse of [[Values.number]]. */
  private def internal(number: Double, dataType: DataType): Option[Any] = dataType match {
    case ByteType                                    => Some(number.toByte)
    case ShortType                                   => Some(number.toShort)
    case IntegerType | DateType                      => Some(number.toInt)
    case LongType | TimestampType | TimestampNTZType => Some(number.toLong)
    case FloatType                                   => Some(number.toFloat)
    case DoubleType                                  => Some(number)
    case d: DecimalType                              => Try(Decimal(BigDecimal(number), d.precision, d.scale)).toOption
    case _                                           => None
  }
}
