package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode}
import org.apache.spark.sql.types._

/**
 * Casts that return a value, or NULL, for every input. In ANSI mode, these are casts whose result always fits the
 * target type. In legacy mode, values that do not fit wrap around or become NULL, except for dates and intervals:
 * `CAST(date AS TIMESTAMP)` overflows in every mode, for years beyond 294246, unless the column is known to have no
 * such year ([[TimeColumns]]).
 */
object TotalCast {

  def apply(c: Cast): Boolean = {
    val (from, to) = (c.child.dataType, c.dataType)
    from == to || lossless(from, to) || (c.evalMode == EvalMode.LEGACY && lenient(from, to)) || TimeColumns.converts(c)
  }

  private def lossless(from: DataType, to: DataType): Boolean = (from, to) match {
    // Spark may check the length
    case (_, _: CharType | _: VarcharType)                             => false
    case (_: StringType, _: StringType)                                => true // to another collation
    case (_, _: StringType)                                            => printed(from)
    case (_: IntegralType, _: DoubleType | _: FloatType)               => true
    case (_: DecimalType | _: FloatType, _: DoubleType)                => true
    case (_: DecimalType, _: FloatType)                                => true
    case (_: NumericType, _: NumericType)                              => Cast.canUpCast(from, to)
    case (BooleanType, _: IntegralType | _: DoubleType | _: FloatType) => true
    case (TimestampType | TimestampNTZType, DateType)                  => true
    case (_: StringType, BinaryType)                                   => true
    case _                                                             => false
  }

  private def printed(t: DataType): Boolean = t match {
    case BooleanType | DateType | TimestampType | TimestampNTZType => true
    case _: NumericType                                            => true
    case _                                                         => false
  }

  /** Whether `show()` prints every value of the type. */
  def shown(t: DataType): Boolean = printed(t) || t.isInstanceOf[StringType] || t == BinaryType

  private def lenient(from: DataType, to: DataType): Boolean = (from, to) match {
    // Java computes the power of ten of a text like '1e-600000000', which is too large or takes minutes
    case (_: StringType, _: DecimalType)                                              => false
    case (_: StringType | BooleanType | _: NumericType, BooleanType | _: NumericType) => true
    case (_: StringType, DateType)                                                    => true
    case _                                                                            => false
  }
}
