package org.apache.spark.sql.dovetail.footers

import java.util.Locale

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.types.StructField

/**
 * Row groups of a table, in the order of its files.
 *
 * @param all   whether they are all rows of the table
 * @param names names in the files of the table's columns, as far as they are known
 */
final case class RowGroups(files: Vector[(FileStatus, FileFooter)], all: Boolean, names: Map[String, String]) {
  import RowGroups._

  val rows: Long = files.map(_._2.rows).sum

  lazy val groups: Vector[(FileStatus, RowGroup)] = files.flatMap { case (file, footer) =>
    (if (footer.groups.isEmpty) Vector(whole(file, footer)) else footer.groups)
      .filter(_.rows > 0L).map(file -> _)
  }

  /** The files with any rows, each as one part: a reader parses the footer of a file whenever it opens it. */
  lazy val wholeFiles: Vector[(FileStatus, RowGroup)] =
    files.filter(_._2.rows > 0L).map { case (file, footer) => file -> whole(file, footer) }

  private def whole(file: FileStatus, footer: FileFooter) = RowGroup(0L, file.getLen, footer.rows)

  private lazy val footerSizes: Map[Path, Long] = files.map { case (file, footer) => file.getPath -> footer.size }.toMap

  /** Bytes of a file's footer. */
  def footerSize(file: FileStatus): Long = footerSizes.getOrElse(file.getPath, 0L)

  /** Largest number of rows whose columns a reader fetches as a whole. */
  lazy val mostAtOnce: Long = groups.iterator.map(_._2.atOnce).foldLeft(0L)(math.max)

  /** By lower-case name, because the table may spell a column differently than its files. */
  private lazy val widths: Map[String, Bytes] =
    files.flatMap(_._2.columns.values).groupBy(c => folded(c.name)).map { case (name, columns) =>
      val count = math.max(rows.toDouble, 1.0)
      name -> Bytes(columns.map(_.bytes.toDouble).sum / count, columns.map(_.inMemory).sum / count)
    }

  private lazy val places: Map[String, String] = names.map { case (column, name) => folded(column) -> folded(name) }

  /** A column of the table in a file, if its name there is known. */
  def column(footer: FileFooter, f: StructField): Option[ColumnFooter] =
    places.get(folded(f.name)).flatMap(footer.column(_, caseSensitive = false))

  /** The files' columns that are none of the table's known ones, together: a column of unknown name is one of them. */
  private lazy val others: Bytes = {
    val unknown = widths -- places.values
    Bytes(unknown.values.map(_.inFile).sum, unknown.values.map(_.inMemory).sum)
  }

  private def bytes(f: StructField): Bytes = places.get(folded(f.name)).flatMap(widths.get).getOrElse {
    val least = f.dataType.defaultSize.toDouble
    Bytes(math.max(others.inFile, least), math.max(others.inMemory, least))
  }

  /** Average bytes of a column per row in the files; if no file has it, at least by its type. */
  def width(f: StructField): Double = bytes(f).inFile

  /** Average bytes of a column per row in the memory of a reader; infinite if it may be any number. */
  def memory(f: StructField): Double = bytes(f).inMemory
}

object RowGroups {

  /** Average bytes per row. */
  final private case class Bytes(inFile: Double, inMemory: Double)

  private def folded(name: String): String = name.toLowerCase(Locale.ROOT)
}
