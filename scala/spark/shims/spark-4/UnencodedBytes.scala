package org.apache.spark.sql.dovetail.footers

import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData

/**
 * Bytes of a chunk's strings and binaries before encoding, if the writer of the file has counted them (Parquet format
 * 2.10; parquet-mr since 1.15, which Spark 4 has).
 */
object UnencodedBytes {
  def apply(chunk: ColumnChunkMetaData): Option[Long] =
    Option(
      chunk.getSizeStatistics
    ).map(_.getUnencodedByteArrayDataBytes).filter(_.isPresent).map(_.get.longValue).filter(_ >= 0L)
}
