package org.apache.spark.sql.dovetail.footers

import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData

/**
 * Bytes of a chunk's strings and binaries before encoding. The Parquet version of Spark 3 does not read this number.
 */
object UnencodedBytes {
  def apply(chunk: ColumnChunkMetaData): Option[Long] = None
}
