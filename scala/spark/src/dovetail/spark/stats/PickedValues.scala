package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{ColumnProfile, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.dovetail.predicates.Conditions

/**
 * Columns of a grouping whose values are values of a column of its input. `dropDuplicates` with some of the columns
 * takes the first value of each other one. Their values and range stay, but not how frequent each value is, if the
 * function prefers some of them. How many of the values are left is not counted, nor how many groups have no value
 * because a FILTER drops all of their rows.
 */
private[stats] object PickedValues {

  /**
   * @param child   input of the grouping
   * @param outputs output columns of the grouping
   */
  def apply(child: RelationProfile, outputs: Seq[NamedExpression]): Map[Long, ColumnProfile] = outputs.flatMap {
    case a: Alias => picked(a.child).flatMap { of =>
        new Conditions().column(of.value).flatMap(child.columns.get).map { c =>
          val column = c.recoded.copy(
            origin = None,
            rangeRows = None,
            uncounted = true,
            nulls = if (of.filtered) None else c.nulls
          )
          a.exprId.id -> (if (of.prefers) column.copy(histogram = None, spread = None) else column)
        }
      }
    case _ => None
  }.toMap

  /**
   * @param value    expression whose value a function returns
   * @param prefers  whether the function prefers some values to others
   * @param filtered whether the function reads only rows that pass a FILTER
   */
  final private case class Picked(value: Expression, prefers: Boolean, filtered: Boolean)

  private def picked(e: Expression): Option[Picked] = e match {
    case a: AggregateExpression =>
      def of(value: Expression, prefers: Boolean) = Some(Picked(value, prefers, a.filter.isDefined))
      a.aggregateFunction match {
        case x: First => of(x.child, prefers = false)
        case x: Last  => of(x.child, prefers = false)
        case x: MaxBy => of(x.valueExpr, prefers = false)
        case x: MinBy => of(x.valueExpr, prefers = false)
        case x: Max   => of(x.child, prefers = true)
        case x: Min   => of(x.child, prefers = true)
        case _        => None
      }
    case _ => None
  }
}
