package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression}
import org.apache.spark.sql.types.{DataType, DateType, TimestampNTZType, TimestampType}

/**
 * Conversions between DATE, TIMESTAMP and TIMESTAMP_NTZ of columns whose range is known ([[KnownRanges]]). In general,
 * such a conversion overflows for years beyond 294246. Range joins of events with the days of a dimension have one in
 * their condition, so without this knowledge they would keep their place in the plan.
 */
object TimeColumns {

  /** Whether a cast is a conversion that no value of its column overflows. */
  def converts(c: Cast): Boolean = converted(c).exists(a =>
    (for { (low, high) <- KnownRanges(a); most <- limit(a.dataType) } yield low >= -most && high <= most).getOrElse(
      false
    )
  )

  /** The column that an expression converts to another type of timestamps, in one step or in several. */
  def converted(e: Expression): Option[Attribute] = e match {
    case c: Cast if limit(c.child.dataType).isDefined && isTimestamp(c.dataType) =>
      c.child match {
        case a: Attribute => Some(a)
        case other        => converted(other)
      }
    case _ => None
  }

  private def isTimestamp(t: DataType): Boolean = t == TimestampType || t == TimestampNTZType

  /** Number of a type, in days or microseconds before or after 1970, that every conversion has room for. */
  private def limit(of: DataType): Option[BigInt] = of match {
    case DateType                         => Some(MostDays)
    case TimestampType | TimestampNTZType => Some(MostMicros)
    case _                                => None
  }

  /** Days whose microseconds fit a long integer in every time zone: those of 290,000 years. */
  private val MostDays = BigInt(106000000)

  /** The same in microseconds. */
  private val MostMicros = MostDays * 86400L * 1000000L
}
