package org.apache.spark.sql.dovetail.deadline

import scala.util.Try

import org.apache.spark.sql.execution.datasources.FileIndex

/**
 * A version of a table. Its files never change.
 *
 * @param table identifier by which the format distinguishes the table from an earlier one at the same place; empty if
 *              the format has none
 */
final case class TableVersion(roots: String, table: String, version: Long)

/**
 * Finds the version that a Delta Lake file index lists. Uses reflection, because Dovetail is not built with Delta Lake.
 */
object TableVersion {

  /**
   * The version with which the query was analyzed; None for other indexes, and for indexes that list only some files of
   * a version.
   */
  def analyzed(index: FileIndex): Option[TableVersion] = if (Parts.exists(property(index, _).isDefined)) None
  else {
    property(index, "version").orElse(property(index, "snapshotAtAnalysis").flatMap(property(_, "version"))).collect {
      case version: java.lang.Long =>
        val table = property(index, "metadata").flatMap(property(_, "id")).fold("")(_.toString)
        TableVersion(index.rootPaths.mkString(" "), table, version.longValue)
    }
  }

  /** Properties of indexes that list the changes between versions, or the files that a statement touches. */
  private val Parts = Seq("addFiles", "filesByVersion")

  /**
   * The same version, if the index lists this version whenever it is asked. Other indexes list the version that is the
   * latest at that time.
   */
  def fixed(index: FileIndex): Option[TableVersion] = {
    def latest = property(index, "snapshotAtAnalysis").isDefined && !isTimeTravel(index)
    analyzed(index).filterNot(_ => latest)
  }

  /** Whether a query asks for this version, and not for the latest one. */
  def isTimeTravel(index: FileIndex): Boolean = property(index, "isTimeTravelQuery").contains(java.lang.Boolean.TRUE)

  private[deadline] def property(of: AnyRef, name: String): Option[AnyRef] =
    Try(of.getClass.getMethod(name).invoke(of)).toOption.flatMap(Option(_))
}
