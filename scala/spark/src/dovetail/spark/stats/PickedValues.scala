package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{ColumnProfile, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.dovetail.predicates.Conditions

/**
 * Columns of a grouping whose values are values of a column of its input. `dropDuplicates` with some of the columns
 * takes the first value of each other one. Their values and range stay, but not how frequent each value is, if the
 * function prefers some of them. How many of the values are left is not counted.
 */
private[stats] object PickedValues {

  /**
   * @param child   input of the grouping
   * @param outputs output columns of the grouping
   */
  def apply(child: RelationProfile, outputs: Seq[NamedExpression]): Map[Long, ColumnProfile] = outputs.flatMap {
    case a: Alias => picked(a.child).flatMap { case (e, prefers) =>
        new Conditions().column(e).flatMap(child.columns.get).map { c =>
          val column = c.recoded.copy(origin = None, rangeRows = None, uncounted = true)
          a.exprId.id -> (if (prefers) column.copy(histogram = None, spread = None) else column)
        }
      }
    case _ => None
  }.toMap

  /** The expression whose value a function returns, and whether it prefers some values to others. */
  private def picked(e: Expression): Option[(Expression, Boolean)] = e match {
    case AggregateExpression(f, _, _, _, _) => f match {
        case x: First => Some(x.child -> false)
        case x: Last  => Some(x.child -> false)
        case x: MaxBy => Some(x.valueExpr -> false)
        case x: MinBy => Some(x.valueExpr -> false)
        case x: Max   => Some(x.child -> true)
        case x: Min   => Some(x.child -> true)
        case _        => None
      }
    case _ => None
  }
}
