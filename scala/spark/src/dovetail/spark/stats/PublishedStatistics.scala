package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.cost.BroadcastMemory
import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile, Source}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, Statistics}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types._

/**
 * What we know of a relation, in the form that Spark plans with.
 *
 * Rows only where they were counted in all files that there are: Spark may take them for the most that there can be.
 * What the catalog has, Spark knows itself. Columns only as far as Spark's estimator can read them: it has no case for
 * TIMESTAMP_NTZ, times, intervals and collations and fails a query that filters such a column; it takes a number without
 * bounds for one that no IN list meets; and it fails where bounds and a histogram differ, so there are none (they made
 * its orders no better and its planning slower).
 */
object PublishedStatistics {

  /** @param hidden columns of which no values may be shown */
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
   * Spark's own size, or what its rows take in memory at most, where that is less: as many bytes as a broadcast of the
   * relation is judged by.
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

  /** None for a column that Spark's estimator had better not see. */
  private def bounds(dataType: DataType, c: ColumnProfile): Option[(Option[Any], Option[Any])] = dataType match {
    case StringType | BinaryType                                 => Some((None, None))
    case _: NumericType | BooleanType | DateType | TimestampType =>
      for (low <- c.min; high <- c.max) yield {
        def value(n: Double) = Some(EstimationUtils.fromDouble(n, dataType))
        (value(low), value(high))
      }
    case _ => None
  }

  /** Bytes of a value; for a text of which nobody knows, Spark assumes some. */
  private def length(dataType: DataType, c: ColumnProfile): Option[Long] = dataType match {
    case StringType | BinaryType => if (c.width.known) Some(math.ceil(c.width.mean).toLong) else None
    case fixed                   => Some(fixed.defaultSize.toLong)
  }

  private def whole(n: Double): BigInt = BigDecimal(n).setScale(0, BigDecimal.RoundingMode.HALF_UP).toBigInt
}
