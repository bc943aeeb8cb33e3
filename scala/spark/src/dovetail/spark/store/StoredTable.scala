package org.apache.spark.sql.dovetail.store

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.sql.dovetail.table.TableStatistics
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** A table's entry in the store: its header and the statistics of the whole table. The parts are not read. */
final class StoredTable(val file: String, val header: TableFile.Header, sketch: TableSketch) {

  /** Bytes of the files that ANALYZE read. */
  val bytes: Long = header.parts.map(_.bytes).sum

  /** Statistics of the whole table at the time when they were collected. */
  val statistics: TableStatistics = sketch.result(bytes, header.collectedAt)
}

/**
 * The key of a table's statistics: the location of its data. A table has the same key whether it is read by name or by
 * path. Renaming a table or pruning partitions of a catalog table does not change the key.
 */
object TableKey {

  /**
   * The key of one location. It opens no file system: Hadoop keeps a file system for all later users, and one that is
   * opened with the driver's configuration lacks the credentials that the session sets.
   */
  def of(location: Path, hadoop: Configuration): String = StoreFiles.qualified(location, hadoop)

  def apply(relation: LogicalRelation, files: HadoopFsRelation, hadoop: Configuration): String = {
    val roots = relation.catalogTable.flatMap(_.storage.locationUri) match {
      case Some(location) => Seq(new Path(location))
      case None           => files.location.rootPaths
    }
    roots.map(TableKey.of(_, hadoop)).distinct.sorted.mkString(",")
  }
}
