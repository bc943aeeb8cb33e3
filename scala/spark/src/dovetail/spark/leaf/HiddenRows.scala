package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * Tells whether queries may see other rows than those in the files of a relation, because a third-party format reads
 * them.
 *
 * Delta Lake leaves out rows by deletion vectors, so what footers or a pass over the files count is an upper bound.
 * Another format may also add rows from elsewhere, as Hudi merges the log files of a merge-on-read table: then such a
 * count bounds nothing.
 */
object HiddenRows {

  /** Packages of Spark's own formats, which return the rows of their files. */
  private val SparkFormats = Seq(
    "org.apache.spark.sql.execution.",
    "org.apache.spark.sql.hive.",
    "org.apache.spark.sql.avro.",
    "org.apache.spark.ml.source."
  )

  /** Start of the name of Delta Lake's format, whose package depends on the distribution. */
  private val DeltaLake = "Delta"

  /** Whether queries may not see all rows of the files. */
  def possible(files: HadoopFsRelation): Boolean = !SparkFormats.exists(files.fileFormat.getClass.getName.startsWith)

  def possible(leaf: LeafNode): Boolean = filesOf(leaf).exists(possible(_))

  /** Whether queries may even see more rows than the files have. */
  def mayAdd(files: HadoopFsRelation): Boolean =
    possible(files) && !files.fileFormat.getClass.getSimpleName.startsWith(DeltaLake)

  def mayAdd(leaf: LeafNode): Boolean = filesOf(leaf).exists(mayAdd(_))

  private def filesOf(leaf: LeafNode): Option[HadoopFsRelation] = leaf match {
    case r: LogicalRelation => r.relation match {
        case files: HadoopFsRelation => Some(files)
        case _                       => None
      }
    case _ => None
  }
}
