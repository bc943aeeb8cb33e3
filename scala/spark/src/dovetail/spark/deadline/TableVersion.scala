package org.apache.spark.sql.dovetail.deadline

import scala.util.Try

import org.apache.spark.sql.execution.datasources.FileIndex

/**
 * A version of a table, which has the same files for ever.
 *
 * @param table by what the format tells it from another table that was at the same place before; empty where it does
 *              not
 */
final case class TableVersion(roots: String, table: String, version: Long)

/** Delta Lake's indexes of files name the version that they list: asked by reflection, for we are not built with it. */
object TableVersion {

  /** The version that the query was analyzed with; None for other indexes, and for some files of a version. */
  def analyzed(index: FileIndex): Option[TableVersion] = if (Parts.exists(property(index, _).isDefined)) None
  else {
    property(index, "version").orElse(property(index, "snapshotAtAnalysis").flatMap(property(_, "version"))).collect {
      case version: java.lang.Long =>
        val table = property(index, "metadata").flatMap(property(_, "id")).fold("")(_.toString)
        TableVersion(index.rootPaths.mkString(" "), table, version.longValue)
    }
  }

  /** What indexes have that list the changes between versions, or the files that a statement touches. */
  private val Parts = Seq("addFiles", "filesByVersion")

  /** The same, where the index lists this version whenever it is asked. Others list what is the latest one then. */
  def fixed(index: FileIndex): Option[TableVersion] = {
    def latest = property(index, "snapshotAtAnalysis").isDefined && !property(
      index,
      "isTimeTravelQuery"
    ).contains(java.lang.Boolean.TRUE)
    analyzed(index).filterNot(_ => latest)
  }

  private[deadline] def property(of: AnyRef, name: String): Option[AnyRef] =
    Try(of.getClass.getMethod(name).invoke(of)).toOption.flatMap(Option(_))
}
