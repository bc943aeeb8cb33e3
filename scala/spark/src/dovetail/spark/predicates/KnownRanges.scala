package org.apache.spark.sql.dovetail.predicates

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId}
import org.apache.spark.sql.dovetail.deadline.PerQuery

/**
 * Columns of the query that is being planned whose values are known to be in a range, apart from NULL. They tell that
 * arithmetic cannot overflow ([[TotalArithmetic]]), nor a conversion of dates ([[TimeColumns]]).
 *
 * Only proofs count here, not estimates: `stats.ColumnRanges` finds the ranges in the footers of all files of a table.
 */
object KnownRanges {

  /** The smallest and the largest value: whole numbers, days or microseconds. */
  type Range = (BigInt, BigInt)

  private val known = new PerQuery[ConcurrentHashMap[ExprId, Range]]

  private def ofQuery: ConcurrentHashMap[ExprId, Range] = known(new ConcurrentHashMap)

  /** Remembers, for the query that this thread plans, that the values of a column are in a range. */
  def add(column: ExprId, range: Range): Unit = { ofQuery.put(column, range); () }

  /** Takes back what [[add]] has remembered. */
  def remove(column: ExprId): Unit = { ofQuery.remove(column); () }

  def apply(column: Attribute): Option[Range] = Option(ofQuery.get(column.exprId))
}
