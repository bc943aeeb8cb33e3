package org.apache.spark.sql.dovetail

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow, TableIdentifier}
import org.apache.spark.sql.sources.{BaseRelation, SchemaRelationProvider, TableScan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Row, SparkSession, SQLContext}

/**
 * Tables whose rows are in memory: real catalog tables that can be analyzed and have statistics, but no files, so that
 * hundreds of queries take seconds.
 *
 * `CREATE TABLE t (…) USING …MemorySource OPTIONS (data 't', bytes '100')`: `bytes` is the size that the source
 * reports. Without it, the source does not know its size, until there is a row count in the catalog. Then it reports
 * one byte per row: so little that the data confirms the count.
 */
class MemorySource extends SchemaRelationProvider {
  override def createRelation(context: SQLContext, options: Map[String, String], schema: StructType): BaseRelation =
    new MemoryRelation(context, schema, options.getOrElse("data", ""), options.get("bytes").map(_.toLong))
}

final class MemoryRelation(
    override val sqlContext: SQLContext,
    override val schema: StructType,
    data: String,
    bytes: Option[Long]
) extends BaseRelation
    with TableScan {
  override def sizeInBytes: Long = bytes.orElse(counted).getOrElse(super.sizeInBytes)

  private def counted: Option[Long] = {
    val (catalog, table) = (sqlContext.sparkSession.sessionState.catalog, TableIdentifier(data))
    if (!catalog.tableExists(table)) None
    else catalog.getTableMetadata(table).stats.flatMap(_.rowCount).filter(_ >= 0).map(_.toLong)
  }

  /** The rows are in Spark's internal format, so that scans need no conversion. */
  override def needConversion: Boolean = false

  override def buildScan(): RDD[Row] = {
    val rows = MemorySource.rows(data)
    (if (rows.isEmpty) sqlContext.sparkContext.emptyRDD[InternalRow]
     else sqlContext.sparkContext.parallelize(rows, 1)).asInstanceOf[RDD[Row]]
  }
}

object MemorySource {
  private val tables = new ConcurrentHashMap[String, Seq[InternalRow]]

  def rows(data: String): Seq[InternalRow] = Option(tables.get(data)).getOrElse(Nil)

  /** @param columns columns as in CREATE TABLE */
  def create(spark: SparkSession, table: String, columns: String, rows: Seq[Row], bytes: Option[Long] = None): Unit = {
    val toInternal = CatalystTypeConverters.createToCatalystConverter(StructType.fromDDL(columns))
    tables.put(table, rows.map(toInternal(_).asInstanceOf[InternalRow]))
    val size = bytes.fold("")(b => s", bytes '$b'")
    spark.sql(s"CREATE TABLE $table ($columns) USING ${classOf[MemorySource].getName} OPTIONS (data '$table'$size)")
    ()
  }
}
