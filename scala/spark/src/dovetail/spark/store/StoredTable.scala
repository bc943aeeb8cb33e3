package org.apache.spark.sql.dovetail.store

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.sql.dovetail.table.TableStatistics
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** A table as it was read from the store: its header, and the statistics of the whole. The parts stay in the file. */
final class StoredTable(val file: String, val header: TableFile.Header, sketch: TableSketch) {

  /** Bytes of the files that were read. */
  val bytes: Long = header.parts.map(_.bytes).sum

  /** As of when they were collected. */
  val statistics: TableStatistics = sketch.result(bytes, header.collectedAt)

  /** Fingerprints of all files that were read. */
  lazy val files: Set[Long] = header.parts.iterator.flatMap(_.files).toSet
}

/**
 * What a table's statistics are found by: where its data is. A table read by name and the same one read by path have
 * one key, a renamed table keeps its own, and a partition pruned from a catalog table does not change it.
 */
object TableKey {
  def apply(relation: LogicalRelation, files: HadoopFsRelation, hadoop: Configuration): String = {
    val roots = relation.catalogTable.flatMap(_.storage.locationUri) match {
      case Some(location) => Seq(new Path(location))
      case None           => files.location.rootPaths
    }
    roots.map(p => p.getFileSystem(hadoop).makeQualified(p).toString).distinct.sorted.mkString(",")
  }
}
