package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * Files that are read by a format of somebody else's, which may leave out rows that they hold: Delta Lake does, with
 * deletion vectors. What footers or a pass over such files count is an upper bound, and no more.
 */
object HiddenRows {

  /** Where Spark's own formats are, which leave out nothing. */
  private val SparkFormats = Seq("org.apache.spark.sql.execution.", "org.apache.spark.sql.hive.")

  def possible(files: HadoopFsRelation): Boolean = !SparkFormats.exists(files.fileFormat.getClass.getName.startsWith)

  def possible(leaf: LeafNode): Boolean = leaf match {
    case r: LogicalRelation => r.relation match {
        case files: HadoopFsRelation => possible(files)
        case _                       => false
      }
    case _ => false
  }
}
