package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path => LocalPath}
import java.util.{Arrays, Base64}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.footers.ParquetFooters
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader

/**
 * Reads a Parquet file of a kilobyte, as the first planning of a query reads footers and rows: with it, the classes of
 * Parquet, of Hadoop's local file system and of Spark's reader are loaded and initialized before a query waits for
 * them. Needs no session and starts no job. Whatever goes wrong leaves that work to the first query.
 */
private[dovetail] object WarmParquet {

  /** @return rows read; none where it could not be done */
  def apply(): Int =
    try {
      val file = Files.createTempFile("dovetail-", ".parquet")
      try { Files.write(file, Base64.getDecoder.decode(Content)); read(file) }
      finally Files.deleteIfExists(file)
    } catch { case NonFatal(_) | _: LinkageError => 0 }

  private def read(file: LocalPath): Int = {
    val conf = new Configuration()
    val path = new Path(file.toUri)
    ParquetFooters.footer(path.getFileSystem(conf).getFileStatus(path), conf)
    val reader = new VectorizedParquetRecordReader(false, Rows)
    try {
      reader.initialize(file.toString, Arrays.asList("id", "text"))
      val batch = reader.resultBatch()
      var rows  = 0
      while (reader.nextBatch()) rows += batch.numRows()
      rows
    } finally reader.close()
  }

  private[dovetail] val Rows = 16

  /** Parquet, Snappy: `id` from 0 on, and `text`, one of three by a dictionary. */
  private val Content =
    "UEFSMRUEFYACFZYBTBUgFQASAACAAQAADQEAAQ0IAAINCAADDQgABA0IAAUNCAAGDQgABw0IAAgNCAAJDQgACg0IAAsNCAAMDQgADQ0I" +
      "PA4AAAAAAAAADwAAAAAAAAAVABUgFSQsFSAVEBUGFQYcGAgPAAAAAAAAABgIAAAAAAAAAAAWACgIDwAAAAAAAAAYCAAAAAAAAAAAEREA" +
      "AAAQPAIAAAAgAQQFEDJUdpi63P4VBBUkFShMFQYVABIAABJEAgAAAHQwAgAAAHQxAgAAAHQyFQAVGBUcLBUgFRAVBhUGHDYAKAJ0MhgC" +
      "dDAREQAAAAwsAgAAACABAgUkSZIkFQQZPDUAGAZzY2hlbWEVBAAVBCUCGAJpZAAVDCUCGAR0ZXh0JQBMHAAAABYgGRwZLCYAHBUEGTUA" +
      "BhAZGAJpZBUCFiAWvgMW2AImvgEmCBwYCA8AAAAAAAAAGAgAAAAAAAAAABYAKAgPAAAAAAAAABgIAAAAAAAAAAAREQAZLBUEFQAVAgAV" +
      "ABUQFQIAPCkGGSYAIAAAACYAHBUMGTUABhAZGAR0ZXh0FQIWIBaWARaeASakAybgAhw2ACgCdDIYAnQwEREAGSwVBBUAFQIAFQAVEBUC" +
      "ADwWQBkGGSYAIAAAABbUBBYgJggW9gMAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRksHAAAHAAAABgBAABQQVIx"
}
