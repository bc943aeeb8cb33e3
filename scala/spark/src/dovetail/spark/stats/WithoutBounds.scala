package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile, Width}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.dovetail.predicates.Widths

/**
 * A profile whose numbers are only estimates, because the data may be other data than that which was counted: there are
 * no bounds of rows, no degrees and no longest values.
 */
private[stats] object WithoutBounds {
  def apply(p: RelationProfile, output: Seq[Attribute]): RelationProfile =
    p.copy(
      rows = Estimate.guess(p.rows.value, p.rows.source),
      columns = columns(p, output)((a, c) => c.copy(degree = None, width = width(a, c)))
    )

  /** The profile without bounds of widths. */
  def ofWidths(p: RelationProfile, output: Seq[Attribute]): RelationProfile =
    p.copy(columns = columns(p, output)((a, c) => c.copy(width = width(a, c))))

  private def columns(p: RelationProfile, output: Seq[Attribute])(
      change: (Attribute, ColumnProfile) => ColumnProfile
  ): Map[Long, ColumnProfile] = output.map(a => a.exprId.id -> change(a, p.column(a.exprId.id))).toMap

  private def width(a: Attribute, c: ColumnProfile): Width =
    if (Widths.fixed(a.dataType).isDefined) Widths.ofType(a.dataType) else Width.unknown(c.width.mean)
}
