package org.apache.spark.sql.dovetail.sample

import dovetail.kernel.profile.Width
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.footers.Lengths
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.unsafe.types.UTF8String

/**
 * Statistics of a column of text files, from a sample of the files.
 *
 * @param nulls   share of the rows in which the column is NULL
 * @param ndv     number of distinct values in the table
 * @param lengths lengths of the texts; they have bounds only if every line was read
 */
final case class TextColumn(nulls: Double, ndv: Option[Double], lengths: Option[Lengths])

private[sample] object TextColumn {

  /** @param whole whether the sample's rows come from all lines */
  def apply(sample: TableSample, c: Int, whole: Boolean): TextColumn = {
    val dataType = sample.schema(c).dataType
    val values   = sample.rows.map((row: InternalRow) => row.get(c, dataType))
    val some     = values.count(_ != null)
    TextColumn(
      if (values.isEmpty) 0.0 else 1.0 - some.toDouble / values.length,
      if (some == 0) None else sample.distinct(Vector(c)),
      lengths(values.collect { case s: UTF8String => s.numBytes.toDouble }, whole && sample.rows.length == sample.of)
    )
  }

  private def lengths(bytes: Seq[Double], all: Boolean): Option[Lengths] =
    if (bytes.isEmpty) None
    else {
      def bound(b: => Double) = if (all) Some(b) else None
      Some(Lengths(bytes.sum / bytes.length, bound(Width.padded(bytes.length.toDouble, bytes.sum)), bound(bytes.max)))
    }
}
