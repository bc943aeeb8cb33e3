package org.apache.spark.sql.dovetail.predicates

import dovetail.kernel.profile.RelationSample
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * Converts values of a type to the keys of [[RelationSample]] and of frequent values. Values that are equal by `=` have
 * equal keys.
 */
final class JoinKeys private (val ordered: Boolean, key: Any => Long) {

  def apply(value: Any): Long =
    if (value == null) RelationSample.NullKey else JoinKeys.ofValue(key(value))
}

object JoinKeys {

  /** An arbitrary number. It need not stay the same, because keys are only compared with each other in one JVM. */
  private val Seed = 42L

  /** The key of a value that is not NULL. It always differs from the key of NULL. */
  def ofValue(key: Long): Long = if (key == RelationSample.NullKey) key + 1 else key

  /**
   * The keys of a type, or None for types without a cheap equality: nested types, and strings with a non-default
   * collation.
   */
  def forType(dataType: DataType): Option[JoinKeys] = dataType match {
    case BooleanType => Some(new JoinKeys(true, v => if (v.asInstanceOf[Boolean]) 1L else 0L))
    case _: IntegralType | DateType | TimestampType | TimestampNTZType =>
      Some(new JoinKeys(true, _.asInstanceOf[Number].longValue))
    case _: DayTimeIntervalType | _: YearMonthIntervalType => Some(new JoinKeys(true, _.asInstanceOf[Number].longValue))
    case _: FloatType | _: DoubleType => Some(new JoinKeys(false, v => ofDouble(v.asInstanceOf[Number].doubleValue)))
    case _: DecimalType               =>
      Some(new JoinKeys(false, v => v.asInstanceOf[Decimal].toJavaBigDecimal.stripTrailingZeros.hashCode.toLong))
    case StringType => Some(new JoinKeys(false, v => text(v.asInstanceOf[UTF8String])))
    case BinaryType =>
      Some(new JoinKeys(
        false,
        v => {
          val b = v.asInstanceOf[Array[Byte]]; XXH64.hashUnsafeBytes(b, Platform.BYTE_ARRAY_OFFSET, b.length, Seed)
        }
      ))
    case _ => None
  }

  /** Whether a cast between the two types keeps the key of every value, and maps no two values to one key. */
  def same(from: DataType, to: DataType): Boolean = forType(from).isDefined && ((from, to) match {
    case (_: IntegralType, _: IntegralType) => true
    case (_: DecimalType, _: DecimalType)   => true
    case (FloatType, DoubleType)            => true
    // a key with NULLs becomes a floating-point column in some programs, and the key that it refers to is cast
    case (ByteType | ShortType | IntegerType, DoubleType) => true
    case _                                                => from == to
  })

  /** The same for nearly all values: a long integer beyond 2^53^ becomes a floating-point number near it. */
  def nearlySame(from: DataType, to: DataType): Boolean = same(from, to) || (from == LongType && to == DoubleType)

  private def text(s: UTF8String): Long = XXH64.hashUnsafeBytes(s.getBaseObject, s.getBaseOffset, s.numBytes, Seed)

  /** A whole number has the key of that integer. In Spark, NaN equals NaN, and -0.0 equals 0.0. */
  private def ofDouble(d: Double): Long =
    if (d == math.rint(d) && math.abs(d) <= MostWhole) d.toLong else java.lang.Double.doubleToLongBits(d)

  /** 2^53^: up to here, each whole number is a floating-point number of its own. */
  private val MostWhole = 9007199254740992.0
}
