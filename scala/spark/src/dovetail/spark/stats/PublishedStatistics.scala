package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.cost.BroadcastMemory
import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile, Source}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, Statistics}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types._

/**
 * Dovetail's statistics of a relation, in the form that Spark plans with.
 *
 * Rows are published only if they were counted in all existing files, because Spark may take them as an upper bound.
 * Statistics from the catalog are not published, because Spark has them already. Columns are published only if Spark's
 * estimator can read them. The estimator has no case for TIMESTAMP_NTZ, times, intervals and collations, and fails a
 * query that filters such a column. It assumes that no IN list matches a numeric column without bounds. It fails if
 * bounds and a histogram differ, so no histograms are published (they made its orders no better and its planning
 * slower).
 */
object PublishedStatistics {

  /** @param hidden whether the values of a column must not be shown */
  def apply(relation: LogicalRelation, profile: RelationProfile, hidden: Attribute => Boolean): Option[Statistics] =
    if (!counted(profile.rows)) None
    else {
      val columns = relation.output.filterNot(hidden).flatMap(a =>
        column(a, profile.column(a.exprId.id), profile.rows.value).map((a: Attribute) -> _)
      )
      Some(Statistics(
        sizeInBytes = bytes(relation, profile),
        rowCount = Some(whole(profile.rows.value)),
        attributeStats = AttributeMap(columns)
      ))
    }

  private def counted(rows: Estimate): Boolean = rows.value == rows.upper && (rows.source match {
    case Source.Collected | Source.Footer => true
    case _                                => false
  })

  /**
   * Spark's own size, or the upper bound of the bytes that the rows take in memory if that is smaller. Dovetail uses
   * the same bound to decide whether the relation may be broadcast.
   */
  private def bytes(relation: LogicalRelation, profile: RelationProfile): BigInt = {
    val own  = relation.stats.sizeInBytes
    val most = BroadcastMemory.bound(profile, relation.output.map(_.exprId.id))
    if (most < Estimate.Ceiling) own.min(whole(math.max(1.0, math.ceil(most)))) else own
  }

  private def column(a: Attribute, c: ColumnProfile, rows: Double): Option[ColumnStat] =
    for {
      ndv        <- c.ndv if ndv >= 1.0 && c.unseen == 0.0
      nulls      <- c.nulls
      (min, max) <- bounds(a.dataType, c)
    } yield ColumnStat(
      distinctCount = Some(whole(ndv)),
      min = min,
      max = max,
      nullCount = Some(whole(nulls * rows)),
      avgLen = length(a.dataType, c),
      maxLen = None
    )

  /** Smallest and largest value, if the type has a range; None for a column that Spark's estimator must not see. */
  private def bounds(dataType: DataType, c: ColumnProfile): Option[(Option[Any], Option[Any])] = dataType match {
    case StringType | BinaryType                                 => Some((None, None))
    case _: NumericType | BooleanType | DateType | TimestampType =>
      for (low <- c.min; high <- c.max) yield {
        def value(n: Double) = Some(EstimationUtils.fromDouble(n, dataType))
        (value(low), value(high))
      }
    case _ => None
  }

  /** Average bytes of a value; None for a string of unknown length, for which Spark assumes a length. */
  private def length(dataType: DataType, c: ColumnProfile): Option[Long] = dataType match {
    case StringType | BinaryType => if (c.width.known) Some(math.ceil(c.width.mean).toLong) else None
    case fixed                   => Some(fixed.defaultSize.toLong)
  }

  private def whole(n: Double): BigInt = BigDecimal(n).setScale(0, BigDecimal.RoundingMode.HALF_UP).toBigInt
}
