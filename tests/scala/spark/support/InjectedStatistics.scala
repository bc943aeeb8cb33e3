package org.apache.spark.sql.dovetail

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogColumnStat, CatalogStatistics}
import org.apache.spark.sql.catalyst.plans.logical.{Histogram, HistogramBin}

/** Puts statistics into the catalog as ANALYZE does, independent of the rows of the table. */
object InjectedStatistics {
  def apply(
      spark: SparkSession,
      table: String,
      rows: Option[BigInt],
      bytes: BigInt,
      columns: Map[String, CatalogColumnStat] = Map.empty
  ): Unit =
    spark.sessionState.catalog.alterTableStats(TableIdentifier(table), Some(CatalogStatistics(bytes, rows, columns)))

  def column(
      ndv: Option[BigInt] = None,
      nulls: Option[BigInt] = None,
      min: Option[String] = None,
      max: Option[String] = None,
      length: Option[Long] = None,
      histogram: Option[Histogram] = None
  ): CatalogColumnStat = CatalogColumnStat(ndv, min, max, nulls, length, length, histogram)

  /** Buckets of the same height, as (low, high, distinct values). */
  def histogram(height: Double, buckets: (Double, Double, Long)*): Histogram =
    Histogram(height, buckets.map { case (lo, hi, ndv) => HistogramBin(lo, hi, ndv) }.toArray)
}
