package org.apache.spark.sql.dovetail.store

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

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
