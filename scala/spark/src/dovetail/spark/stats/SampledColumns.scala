package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{Assumptions, ColumnProfile, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.dovetail.table.TableSample

/**
 * Columns of a table whose values were read, beyond what its footers say: exact counts if all rows were read, and
 * otherwise distinct values that nobody has counted.
 */
private[stats] object SampledColumns {

  /** @param profile profile of the table by its footers */
  def apply(profile: RelationProfile, columns: Seq[Attribute], sample: TableSample): RelationProfile =
    profile.copy(columns =
      profile.columns ++ (for {
        a     <- columns
        field <- sample.schema.find(_.name == a.name) if field.dataType == a.dataType
        column = profile.column(a.exprId.id)
        i      = sample.schema.indexOf(field)
      } yield a.exprId.id -> sample.counts.get(a.name).fold(
        withDistinct(column, profile.rows.value, sample, i).copy(spread = sample.spread(i, column.min, column.max))
      )(_.onto(column)))
    )

  /**
   * Estimates the distinct values of a column from the sample if footers do not count them. ORC files tell nothing of
   * strings, and a range has far more whole numbers than a column of codes. The number stays a guess: a key that the
   * column refers to knows better.
   */
  private def withDistinct(column: ColumnProfile, rows: Double, sample: TableSample, i: Int): ColumnProfile =
    if (column.ndv.isDefined && !column.uncounted) column
    else sample.distinct(Vector(i)).filter(d => d > 0.0 && !column.ndv.exists(d >= Assumptions.UniqueNdvShare * _))
      .fold(column)(d =>
        column.copy(
          ndv = Some(d),
          domain = Some(d),
          repetition = Assumptions.repetition(d, rows * column.nonNull),
          uncounted = true
        )
      )
}
