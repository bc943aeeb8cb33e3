package org.apache.spark.sql.dovetail.sample

import dovetail.kernel.profile.{RelationSample, Width}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.footers.Lengths
import org.apache.spark.sql.dovetail.predicates.JoinKeys
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

  /** Largest share of values that ranges may have in common if each range is still taken to have its own values. */
  private val HardlyAny = 0.1

  /**
   * Number of distinct values per range from which on the values of a range are assumed not to occur in the rows
   * between the ranges.
   */
  private val LocalValues = 10.0

  /** @param whole whether the sample's rows come from all lines */
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
   * Estimates the number of distinct values with the estimator for random samples, unless each range has its own
   * values, as in sorted files. In that case, the number of values grows in proportion to the number of rows. If the
   * ranges have few values each, these values may continue beside the ranges. The true number is then between the
   * values seen and the extrapolated number, and their geometric mean is used.
   */
  private def distinct(sample: TableSample, c: Int, some: Int): Option[Double] =
    if (some == 0) None
    else sample.distinct(Vector(c)).map { drawn =>
      val ranges      = distinctByRange(sample, c)
      val (seen, sum) = (ranges.reduceOption(_ union _).fold(0)(_.size).toDouble, ranges.map(_.size).sum.toDouble)
      if (ranges.size < 2 || seen < (1.0 - HardlyAny) * sum) drawn
      else {
        val all = seen * sample.of / sample.rows.length
        math.max(drawn, if (sum / ranges.size >= LocalValues) all else math.sqrt(seen * all))
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
