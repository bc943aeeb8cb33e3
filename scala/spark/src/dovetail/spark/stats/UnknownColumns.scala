package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.dovetail.predicates.Widths

/** Columns of which only the type is known. */
private[stats] object UnknownColumns {
  def apply(a: Attribute): ColumnProfile = ColumnProfile(width = Widths.ofType(a.dataType))

  /** Rows of such columns. */
  def profile(output: Seq[Attribute], rows: Estimate): RelationProfile =
    RelationProfile(rows, output.map(a => a.exprId.id -> UnknownColumns(a)).toMap, rows.value)
}
