package org.apache.spark.sql.dovetail.footers

import scala.util.control.NonFatal

import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.StructType

/**
 * The names that the columns of a Delta Lake table have in its files. With column mapping, a column keeps its name in
 * the files when it is renamed, and a column that is added again gets a new one: the entry of a footer under the
 * column's own name may belong to another column. Only the format's own schema has both names. It is read by
 * reflection, because Dovetail is not built with Delta Lake.
 */
private[footers] object DeltaColumns {

  /**
   * Names in the files by names in the table, as far as they are known; None without column mapping. They are not known
   * if the reader goes by field ids.
   */
  def apply(format: FileFormat): Option[Map[String, String]] =
    if (!format.getClass.getMethods.exists(_.getName == Mode)) None
    else told(format, Mode).flatMap(told(_, "name")) match {
      case Some("none") => None
      case Some("name") => Some(told(format, "referenceSchema").fold(Map.empty[String, String])(physical))
      case _            => Some(Map.empty)
    }

  private def physical(schema: AnyRef): Map[String, String] = schema match {
    case s: StructType =>
      s.filter(_.metadata.contains(PhysicalName)).map(f => f.name -> f.metadata.getString(PhysicalName)).toMap
    case _ => Map.empty
  }

  private def told(of: AnyRef, method: String): Option[AnyRef] =
    try Option(of.getClass.getMethod(method).invoke(of))
    catch { case NonFatal(_) | _: LinkageError => None }

  /** The format's method for the way of mapping: none, by name in the files, or by field id. */
  private val Mode = "columnMappingMode"

  /** Metadata key of a column's name in the files (`DeltaColumnMapping.COLUMN_MAPPING_PHYSICAL_NAME_KEY`). */
  private val PhysicalName = "delta.columnMapping.physicalName"
}
