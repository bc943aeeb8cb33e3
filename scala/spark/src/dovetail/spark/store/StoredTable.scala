package org.apache.spark.sql.dovetail.store

import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.sql.dovetail.table.TableStatistics

/** A table as it was read from the store: its header, and the statistics of the whole. The parts stay in the file. */
final class StoredTable(val file: String, val header: TableFile.Header, sketch: TableSketch) {

  /** Bytes of the files that were read. */
  val bytes: Long = header.parts.map(_.bytes).sum

  /** As of when they were collected. */
  val statistics: TableStatistics = sketch.result(bytes, header.collectedAt)

  /** Fingerprints of all files that were read. */
  lazy val files: Set[Long] = header.parts.iterator.flatMap(_.files).toSet
}
