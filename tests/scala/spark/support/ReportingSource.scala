package org.apache.spark.sql.dovetail

import java.util
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference, Transform}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning, UnknownPartitioning}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A data source of version 2 that reports statistics, as Iceberg does: its number of rows and the statistics of column
 * k, as the options give them. With the option `partitioned`, it reports partitions by k. It has no rows.
 */
class ReportingSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = StructType.fromDDL("k INT, v INT")

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table =
    new ReportingTable(schema, new CaseInsensitiveStringMap(properties))
}

final class ReportingTable(columns: StructType, options: CaseInsensitiveStringMap) extends Table with SupportsRead {
  override def name: String                            = "test.reporting"
  override def schema: StructType                      = columns
  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder = new ScanBuilder {
    override def build(): Scan = { ReportingSource.scans.incrementAndGet(); new ReportingScan(columns, options) }
  }
}

object ReportingSource {

  /** Number of scans built so far. */
  val scans = new AtomicInteger

  /** How often a scan was asked for its statistics. */
  val asked = new AtomicInteger

  /** Called before a scan reports its rows. */
  @volatile var beforeRows: () => Unit = () => ()
}

final class ReportingScan(columns: StructType, options: CaseInsensitiveStringMap) extends Scan
    with SupportsReportStatistics with SupportsReportPartitioning with Batch {
  override def readSchema: StructType                        = columns
  override def toBatch: Batch                                = this
  override def planInputPartitions(): Array[InputPartition]  = Array.empty
  override def createReaderFactory(): PartitionReaderFactory = _ => throw new UnsupportedOperationException("no rows")

  override def outputPartitioning(): Partitioning =
    if (options.getBoolean("partitioned", false)) new KeyGroupedPartitioning(Array(Expressions.identity("k")), 8)
    else new UnknownPartitioning(0)

  override def estimateStatistics(): Statistics = { ReportingSource.asked.incrementAndGet(); new Reported }

  final private class Reported extends Statistics {
    override def sizeInBytes: util.OptionalLong = util.OptionalLong.of(options.getLong("bytes", 1000L))
    override def numRows: util.OptionalLong     = {
      ReportingSource.beforeRows()
      if (options.containsKey("rows")) util.OptionalLong.of(options.getLong("rows", 0L)) else util.OptionalLong.empty()
    }
    override def columnStats: util.Map[NamedReference, ColumnStatistics] = {
      val stats = new util.HashMap[NamedReference, ColumnStatistics]
      if (options.containsKey("distinct")) stats.put(
        Expressions.column("k"),
        new ColumnStatistics {
          override def distinctCount: util.OptionalLong = util.OptionalLong.of(options.getLong("distinct", 0L))
          override def nullCount: util.OptionalLong     = util.OptionalLong.of(0L)
          override def min: util.Optional[AnyRef]       = util.Optional.of(Int.box(options.getInt("min", 0)))
          override def max: util.Optional[AnyRef]       = util.Optional.of(Int.box(options.getInt("max", 0)))
        }
      )
      stats
    }
  }
}
