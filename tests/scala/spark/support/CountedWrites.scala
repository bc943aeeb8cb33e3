package org.apache.spark.sql.dovetail

import java.util
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, Write, WriteBuilder}
import org.apache.spark.sql.execution.datasources.noop.NoopDataSource
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A data source that drops what is written to it, and counts how often Spark builds a write. */
class CountedWrites extends TableProvider {
  private val noop = (new NoopDataSource).getTable(new StructType, Array.empty, util.Collections.emptyMap())

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = new StructType

  override def getTable(schema: StructType, by: Array[Transform], properties: util.Map[String, String]): Table =
    new Table with SupportsWrite {
      override def name: String                                          = "counted"
      override def schema: StructType                                    = new StructType
      override def capabilities: util.Set[TableCapability]               = noop.capabilities
      override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder {
        override def build: Write = {
          CountedWrites.built.incrementAndGet()
          noop.asInstanceOf[SupportsWrite].newWriteBuilder(info).build()
        }
      }
    }
}

object CountedWrites {
  val built = new AtomicInteger
}
