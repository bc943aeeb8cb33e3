package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * Tells whether files may have rows that queries do not see, because a third-party format reads them. Delta Lake leaves
 * out rows by deletion vectors. What footers or a pass over such files count is only an upper bound.
 */
object HiddenRows {

  /** Packages of Spark's own formats, which leave out no rows. */
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
