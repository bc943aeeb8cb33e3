package org.apache.spark.sql.dovetail.footers

import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData

/** Bytes of a chunk's texts and binaries before they were encoded: the Parquet of Spark 3 does not read them. */
object UnencodedBytes {
  def apply(chunk: ColumnChunkMetaData): Option[Long] = None
}
