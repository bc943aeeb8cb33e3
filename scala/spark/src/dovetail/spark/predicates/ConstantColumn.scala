package org.apache.spark.sql.dovetail.predicates

import dovetail.kernel.profile.{ColumnProfile, Frequencies, FrequentValue, RelationSample, Width}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, Literal}
import org.apache.spark.sql.types.DataType

/**
 * Profile of a column that a query computes from constants only, such as the name of a channel in a branch of a union:
 * it has one value, which is all of its values.
 */
object ConstantColumn {

  /** None if the expression is no constant. */
  def apply(e: Expression, width: Width): Option[ColumnProfile] = e match {
    case a: Alias                                       => apply(a.child, width)
    case Literal(null, _)                               => Some(one(width).copy(nulls = Some(1.0)))
    case Literal(value, dataType)                       => Some(ofValue(value, dataType, width))
    case other if other.foldable && other.deterministic => Some(one(width))
    case _                                              => None
  }

  private def one(width: Width): ColumnProfile =
    ColumnProfile(ndv = Some(1.0), domain = Some(1.0), width = width)

  private def ofValue(value: Any, dataType: DataType, width: Width): ColumnProfile = {
    val number = if (Values.ordered(dataType)) Values.number(value).filterNot(_.isInfinite) else None
    val key    = JoinKeys.forType(dataType).map(_(value)).filter(_ != RelationSample.NullKey)
    one(width).copy(
      nulls = Some(0.0),
      min = number,
      max = number,
      frequent = key.map(k => Frequencies(Vector(FrequentValue(k, number, 1.0)), complete = true))
    )
  }
}
