package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{ColumnProfile, GroupTotals, Histogram, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.dovetail.predicates.Conditions

/**
 * Distributions of the aggregate functions of a GROUP BY, for HAVING and for joins above it. A function has one if its
 * argument is a column whose range is known, and if the number of groups rests on a count. The NDVs of several keys
 * that depend on each other say little about how many groups there are.
 */
private[stats] object GroupValues {

  /**
   * @param child   input of the grouping
   * @param keys    grouping expressions
   * @param outputs output columns of the grouping
   * @param grouped profile of the output without these distributions
   */
  def apply(
      child: RelationProfile,
      keys: Seq[Expression],
      outputs: Seq[NamedExpression],
      grouped: RelationProfile
  ): RelationProfile =
    if (!GroupedRows.isCounted(keys, child)) grouped
    else {
      val totals = new GroupTotals(child.rows.value, grouped.rows.value, frequent(keys, child))
      val known  = outputs.flatMap {
        case a: Alias => a.child match {
            case e: AggregateExpression if e.filter.isEmpty => distribution(e, child, totals).map(a.exprId.id -> _)
            case _                                          => None
          }
        case _ => None
      }
      grouped.copy(columns = known.foldLeft(grouped.columns) { case (columns, (id, h)) =>
        columns.updated(id, grouped.column(id).copy(histogram = Some(h)))
      })
    }

  /** Rows of the groups of the most frequent values, if the only key is a column whose frequencies were counted. */
  private def frequent(keys: Seq[Expression], child: RelationProfile): Vector[Double] =
    keys.filter(_.references.nonEmpty).map(new Conditions().column(_)) match {
      case Seq(Some(id)) =>
        val c = child.column(id)
        c.frequent.toVector.flatMap(_.values.map(_.share * c.nonNull * child.rows.value))
      case _ => Vector.empty
    }

  private def distribution(e: AggregateExpression, child: RelationProfile, totals: GroupTotals): Option[Histogram] = {
    def column(of: Expression): Option[ColumnProfile] = new Conditions().column(of).flatMap(child.columns.get)
    e.aggregateFunction match {
      case m: Max            => column(m.child).flatMap(totals.largest)
      case m: Min            => column(m.child).flatMap(totals.smallest)
      case _ if e.isDistinct => None
      case c: Count          => nonNull(c.children, column).map(totals.count)
      case s: Sum            => column(s.child).flatMap(totals.sum)
      case a: Average        => column(a.child).flatMap(totals.average)
      case _                 => None
    }
  }

  /** Share of the rows that `count` counts; None if it reads an expression or several columns that may be NULL. */
  private def nonNull(counted: Seq[Expression], column: Expression => Option[ColumnProfile]): Option[Double] =
    counted.filter(_.nullable) match {
      case Seq()  => Some(1.0)
      case Seq(e) => column(e).map(_.nonNull)
      case _      => None
    }
}
