package org.apache.spark.sql.dovetail.sample

import dovetail.kernel.profile.{RelationSample, Width}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.footers.Lengths
import org.apache.spark.sql.dovetail.predicates.JoinKeys
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.unsafe.types.UTF8String

/**
 * A column of text files by their sample.
 *
 * @param nulls   share of the rows
 * @param ndv     distinct values of the table
 * @param lengths of texts; bounds only where every line was read
 */
final case class TextColumn(nulls: Double, ndv: Option[Double], lengths: Option[Lengths])

private[sample] object TextColumn {

  /** Values that ranges have in common, as a share of all, below which a range is taken to have values of its own. */
  private val HardlyAny = 0.1

  /** Distinct values of a range above which its values do not go on in the rows between the ranges. */
  private val Many = 10.0

  /** @param whole the sample's rows are of all lines */
  def apply(sample: TableSample, c: Int, whole: Boolean): TextColumn = {
    val dataType = sample.schema(c).dataType
    val values   = sample.rows.map((row: InternalRow) => row.get(c, dataType))
    val some     = values.count(_ != null)
    TextColumn(
      if (values.isEmpty) 0.0 else 1.0 - some.toDouble / values.length,
      distinct(sample, c, some),
      lengths(values.collect { case s: UTF8String => s.numBytes.toDouble }, whole && sample.rows.length == sample.of)
    )
  }

  private def lengths(bytes: Seq[Double], all: Boolean): Option[Lengths] =
    if (bytes.isEmpty) None
    else {
      def bound(b: => Double) = if (all) Some(b) else None
      Some(Lengths(bytes.sum / bytes.length, bound(Width.padded(bytes.length.toDouble, bytes.sum)), bound(bytes.max)))
    }

  /**
   * By the estimator for rows that chance has drawn, unless each range has values of its own, as in files that are
   * sorted: then there are as many more as there are more rows. Where a range has few, they may go on beside it, and
   * the truth is anywhere between the values seen and these.
   */
  private def distinct(sample: TableSample, c: Int, some: Int): Option[Double] =
    if (some == 0) None
    else sample.distinct(Vector(c)).map { drawn =>
      val ranges      = distinctByRange(sample, c)
      val (seen, sum) = (ranges.reduceOption(_ union _).fold(0)(_.size).toDouble, ranges.map(_.size).sum.toDouble)
      if (ranges.size < 2 || seen < (1.0 - HardlyAny) * sum) drawn
      else {
        val all = seen * sample.of / sample.rows.length
        math.max(drawn, if (sum / ranges.size >= Many) all else math.sqrt(seen * all))
      }
    }

  private def distinctByRange(sample: TableSample, c: Int): Vector[Set[Long]] = {
    val dataType = sample.schema(c).dataType
    JoinKeys.forType(dataType).toVector.flatMap { key =>
      sample.clusters.zip(sample.clusters.drop(1) :+ sample.rows.length).map { case (from, to) =>
        (from until to).iterator.map(i => key(sample.rows(i).get(c, dataType))).filter(
          _ != RelationSample.NullKey
        ).toSet
      }.filter(_.nonEmpty)
    }
  }
}
