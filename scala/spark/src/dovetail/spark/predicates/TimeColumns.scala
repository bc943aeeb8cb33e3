package org.apache.spark.sql.dovetail.predicates

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression, ExprId}
import org.apache.spark.sql.dovetail.deadline.PerQuery
import org.apache.spark.sql.types.{DataType, DateType, TimestampNTZType, TimestampType}

/**
 * Columns of the query that is being planned whose values are known to convert between DATE, TIMESTAMP and
 * TIMESTAMP_NTZ. In general, such a conversion overflows for years beyond 294246. Range joins of events with the days
 * of a dimension have one in their condition, so without this knowledge they would keep their place in the plan.
 *
 * `stats.TimeRanges` finds the columns by the footers of the files that the query reads.
 */
object TimeColumns {
  private val known = new PerQuery[ConcurrentHashMap[ExprId, Unit]]

  private def ofQuery: ConcurrentHashMap[ExprId, Unit] = known(new ConcurrentHashMap)

  /** Remembers, for the query that this thread plans, that the values of a column are in the range of its type. */
  def add(column: Attribute): Unit = { ofQuery.put(column.exprId, ()); () }

  /** Takes back what [[add]] has remembered. */
  def remove(column: Attribute): Unit = { ofQuery.remove(column.exprId); () }

  /** Whether a cast is a conversion that no value of its column overflows. */
  def converts(c: Cast): Boolean = converted(c).exists(a => ofQuery.containsKey(a.exprId))

  /** The column that an expression converts to another type of timestamps, in one step or in several. */
  def converted(e: Expression): Option[Attribute] = e match {
    case c: Cast if range(c.child.dataType).isDefined && isTimestamp(c.dataType) =>
      c.child match {
        case a: Attribute => Some(a)
        case other        => converted(other)
      }
    case _ => None
  }

  private def isTimestamp(t: DataType): Boolean = t == TimestampType || t == TimestampNTZType

  /** Least and greatest number of a type, in days or microseconds since 1970, that every conversion has room for. */
  def range(of: DataType): Option[(Double, Double)] = of match {
    case DateType                         => Some((-MostDays, MostDays))
    case TimestampType | TimestampNTZType => Some((-MostMicros, MostMicros))
    case _                                => None
  }

  /** Days whose microseconds fit a long integer in every time zone: those of 290,000 years. */
  private val MostDays = 106000000.0

  /** The same in microseconds. */
  private val MostMicros = MostDays * 86400e6
}
