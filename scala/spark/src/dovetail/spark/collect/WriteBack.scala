package org.apache.spark.sql.dovetail.collect

import java.util.Locale

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogTable}
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, Histogram, HistogramBin}
import org.apache.spark.sql.connector.catalog.CatalogManager
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.leaf.{MalformedRecords, SkippedFiles}
import org.apache.spark.sql.dovetail.predicates.Values
import org.apache.spark.sql.dovetail.table.{ColumnStatistics, TableStatistics}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types._

/**
 * Writes to Spark's catalog the statistics that it has a place for, so that plain Spark benefits as well: rows, bytes
 * and, per column, counts, bounds, widths and a histogram.
 *
 * It leaves out what makes Spark's own estimator fail, which has no case for TIMESTAMP_NTZ and intervals, takes NaN for
 * a bound, and asserts that a histogram covers the range between the bounds. It leaves out numeric columns whose bounds
 * must not be kept, too: without bounds, Spark takes a column for one of NULLs, and its joins for empty.
 *
 * Spark plans every later query with these statistics, so they must be those of the table as every query reads it.
 */
object WriteBack {

  /** Returns notes for the user. If the catalog refuses the statistics, the collection does not fail. */
  def apply(session: SparkSession, relation: LogicalRelation, statistics: TableStatistics): Seq[String] =
    relation.catalogTable.filter(_ => DovetailConf.StoreWriteBack.get(session.sessionState.conf)).toSeq.flatMap {
      table =>
        hindrance(session, relation, table) match {
          case Some(why) => Seq(s"The statistics were not written to Spark's catalog: $why")
          case None      => write(session, table, statistics)
        }
    }

  /** Why the statistics are not those of a table in Spark's catalog as every query reads it; None if they are. */
  private def hindrance(session: SparkSession, relation: LogicalRelation, table: CatalogTable): Option[String] =
    if (!isInSessionCatalog(session, table))
      Some(s"it holds those of tables in ${CatalogManager.SESSION_CATALOG_NAME} only")
    else if (MalformedRecords.areDropped(relation))
      Some("it depends on the columns of a query which records are dropped")
    else if (SkippedFiles.possible(relation)) Some("Spark may have skipped files that it could not read")
    else relation.relation match {
      case files: HadoopFsRelation if PartialReading(files) => Some("they are not those of all files of the table now")
      case files: HadoopFsRelation                          =>
        val own    = options(table.properties ++ table.storage.properties)
        val others = options(files.options).filterNot { case (k, v) => Usual(k) || own.get(k).contains(v) }
        if (others.isEmpty) None
        else Some(s"the table was read with options of its own: ${others.keys.toVector.sorted.mkString(", ")}")
      case _ => None
    }

  /** Spark would otherwise write them to a table of the same name. */
  private def isInSessionCatalog(session: SparkSession, table: CatalogTable): Boolean =
    table.identifier.catalog.forall(_ == CatalogManager.SESSION_CATALOG_NAME) &&
      Try(session.sessionState.catalog.getTableMetadata(table.identifier)).toOption.exists(
        _.storage.locationUri == table.storage.locationUri
      )

  private def options(of: Map[String, String]): Map[String, String] = of.map { case (k, v) =>
    k.toLowerCase(Locale.ROOT) -> v
  }

  /** Options that Spark adds to those of a table. */
  private val Usual = Set("path", "mergeschema", "serialization.format")

  private def write(session: SparkSession, table: CatalogTable, statistics: TableStatistics): Seq[String] = {
    val histograms = DovetailConf.HistogramEnabled.get(session.sessionState.conf)
    val shown      = statistics.columns.filterNot(isHidden)
    val columns    = shown.filter(fits).map(c =>
      c.name -> columnStat(c, statistics.rows, histograms).toCatalogColumnStat(c.name, c.dataType)
    )
    val replaced = shown.map(_.name).toSet
    val catalog  = session.sessionState.catalog
    try {
      // as the catalog has them now: the session may have cached the table before another one changed them
      val others = catalog.getTableMetadata(table.identifier).stats.map(_.colStats).getOrElse(Map.empty)
      val before = others.filterNot { case (name, _) => replaced(name) }
      catalog.alterTableStats(
        table.identifier,
        Some(CatalogStatistics(
          sizeInBytes = BigInt(statistics.bytes),
          rowCount = Some(BigInt(statistics.rows)),
          colStats = before ++ columns
        ))
      )
      Nil
    } catch { case NonFatal(e) => Seq(s"Spark's catalog did not accept the statistics: ${e.getMessage}") }
  }

  /** Whether Spark's estimator needs bounds of a column that has values, and they must not be kept. */
  private def isHidden(c: ColumnStatistics): Boolean =
    Values.ordered(c.dataType) && c.values > 0L && (c.min.isEmpty || c.max.isEmpty)

  private def fits(c: ColumnStatistics): Boolean = c.dataType match {
    case FloatType | DoubleType =>
      Seq(c.min, c.max).flatten.flatMap(Values.number(_)).forall(v => !v.isInfinite) && !hasNaN(c)
    case _: NumericType | BooleanType | DateType | TimestampType => true
    case StringType | BinaryType                                 => true
    case _                                                       => false
  }

  private def hasNaN(c: ColumnStatistics): Boolean = Seq(c.min, c.max).flatten.exists(Values.number(_).isEmpty)

  private def columnStat(c: ColumnStatistics, rows: Long, histograms: Boolean): ColumnStat = {
    val bounded = Values.ordered(c.dataType)
    ColumnStat(
      distinctCount = Some(BigInt(math.round(c.ndv))),
      min = if (bounded) c.min else None,
      max = if (bounded) c.max else None,
      nullCount = Some(BigInt(c.nulls)),
      avgLen = Some(math.ceil(c.width).toLong),
      maxLen = Some(c.maxWidth),
      histogram = if (histograms && bounded && c.dataType != BooleanType) histogram(c, rows - c.nulls) else None
    )
  }

  /**
   * A histogram of bins of equal height, from the smallest to the largest value; None if these are not known. A bin of
   * a single value has one distinct value. The others share the remaining distinct values, and have at most as many as
   * their range has places for.
   */
  private def histogram(c: ColumnStatistics, values: Long): Option[Histogram] =
    for (least <- c.min; most <- c.max if c.quantiles.size > 1)
      yield histogram(c, values, asSparkReads(least), asSparkReads(most))

  /**
   * A bound as Spark's estimator reads it. This is not the number in memory: the float 1.1 is 1.10000002 as a double,
   * and its text is read as 1.1.
   */
  private def asSparkReads(bound: Any): Double = bound.toString.toDouble

  private def histogram(c: ColumnStatistics, values: Long, low: Double, high: Double): Histogram = {
    val inner   = c.quantiles.slice(1, c.quantiles.size - 1).map(q => math.max(low, math.min(high, q)))
    val ends    = low +: inner :+ high
    val ranges  = ends.zip(ends.tail)
    val wide    = ranges.count { case (lo, hi) => lo < hi }
    val single  = ranges.collect { case (lo, hi) if lo == hi => lo }.distinct.size
    val share   = if (wide == 0) 1.0 else math.max(1.0, (c.ndv - single) / wide)
    val integer = c.dataType match { case _: IntegralType | DateType => true; case _ => false }
    val bins    = ranges.map { case (lo, hi) =>
      val places = if (lo == hi) 1.0 else if (integer) hi - lo + 1.0 else share
      HistogramBin(lo, hi, math.max(1L, math.round(math.min(share, places))))
    }
    Histogram(values.toDouble / bins.size, bins.toArray)
  }
}
