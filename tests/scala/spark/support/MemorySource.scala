package org.apache.spark.sql.dovetail

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.sources.{BaseRelation, SchemaRelationProvider, TableScan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Row, SparkSession, SQLContext}

/** Tables whose rows lie in memory: real catalog tables that can be analyzed and carry statistics, without files, so that hundreds of queries take seconds.
  *
  * `CREATE TABLE t (…) USING …MemorySource OPTIONS (data 't', bytes '100')`: `bytes` is the size that the source reports; without it, it knows none.
  */
class MemorySource extends SchemaRelationProvider {
  override def createRelation(context: SQLContext, options: Map[String, String], schema: StructType): BaseRelation =
    new MemoryRelation(context, schema, options.getOrElse("data", ""), options.get("bytes").map(_.toLong))
}

final class MemoryRelation(override val sqlContext: SQLContext, override val schema: StructType, data: String, bytes: Option[Long]) extends BaseRelation with TableScan {
  override def sizeInBytes: Long = bytes.getOrElse(super.sizeInBytes)
  override def buildScan(): RDD[Row] = {
    val rows = MemorySource.rows(data)
    if (rows.isEmpty) sqlContext.sparkContext.emptyRDD[Row] else sqlContext.sparkContext.parallelize(rows, 1)
  }
}

object MemorySource {
  private val tables = new ConcurrentHashMap[String, Seq[Row]]

  def rows(data: String): Seq[Row] = Option(tables.get(data)).getOrElse(Nil)

  /** @param columns as in CREATE TABLE */
  def create(spark: SparkSession, table: String, columns: String, rows: Seq[Row], bytes: Option[Long] = None): Unit = {
    tables.put(table, rows)
    val size = bytes.fold("")(b => s", bytes '$b'")
    spark.sql(s"CREATE TABLE $table ($columns) USING ${classOf[MemorySource].getName} OPTIONS (data '$table'$size)")
    ()
  }
}
