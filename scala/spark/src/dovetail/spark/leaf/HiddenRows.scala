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

  /**
   * Spark's own formats, which return the rows of their files. The packages do not tell: Hudi has a format in that of
   * Spark's Parquet format.
   */
  private val SparkFormats = Set(
    "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
    "org.apache.spark.sql.execution.datasources.csv.CSVFileFormat",
    "org.apache.spark.sql.execution.datasources.json.JsonFileFormat",
    "org.apache.spark.sql.execution.datasources.text.TextFileFormat",
    "org.apache.spark.sql.execution.datasources.xml.XmlFileFormat",
    "org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat",
    "org.apache.spark.sql.hive.orc.OrcFileFormat",
    "org.apache.spark.sql.hive.execution.HiveFileFormat",
    "org.apache.spark.sql.avro.AvroFileFormat",
    "org.apache.spark.ml.source.image.ImageFileFormat",
    "org.apache.spark.ml.source.libsvm.LibSVMFileFormat"
  )

  /** Start of the name of Delta Lake's format, whose package depends on the distribution. */
  private val DeltaLake = "Delta"

  /** Whether queries may not see all rows of the files. */
  def possible(files: HadoopFsRelation): Boolean = !SparkFormats(files.fileFormat.getClass.getName)

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
