package org.apache.spark.sql.dovetail.footers

import java.util.Locale
import java.util.concurrent.ConcurrentHashMap

/**
 * What the footer of one file says, in words that Parquet and ORC share: made by a [[FooterFormat]], kept in the [[FooterCache]], added up over the files
 * of a table by [[TableFooters]].
 *
 * @param groups in the order of the file; empty where they are not told apart
 */
final case class FileFooter(rows: Long, columns: Map[String, ColumnFooter], groups: Vector[RowGroup] = Vector.empty) {
  private lazy val folded = columns.map { case (name, c) => name.toLowerCase(Locale.ROOT) -> c }

  /** The column as Spark finds it: by its very name, else in any case where the session does not mind. */
  def column(name: String, caseSensitive: Boolean): Option[ColumnFooter] =
    columns.get(name).orElse(if (caseSensitive) None else folded.get(name.toLowerCase(Locale.ROOT)))
}

/** Rows that lie together in a file, and can be read without others. Bytes from the beginning of the file. */
final case class RowGroup(start: Long, bytes: Long, rows: Long)

/**
 * One column of one file.
 *
 * @param name   as the file spells it
 * @param values that are not NULL; all of them where the nulls are not counted
 * @param kind   the line that `ends` is on: a column is only ranged by a type of the same kind
 * @param bytes  of all pages, encoded and not compressed, nested columns included
 * @param width  average bytes of a value of variable length, where the footer tells
 * @param atMost distinct values that the compressed bytes can hold, where that says anything
 * @param chunks of some of the row groups, with what they give away of their distinct values
 */
final case class ColumnFooter(
    name: String,
    values: Long,
    nulls: Option[Long],
    kind: Kind,
    ends: Option[Ends],
    bytes: Long,
    width: Option[Double] = None,
    atMost: Option[Double] = None,
    chunks: Vector[Chunk] = Vector.empty
)

/** The smallest and the largest value, both numbers or both the bytes of a text, one character each, which sort as Parquet and ORC sort them. */
sealed trait Ends
final case class Numbers(low: Double, high: Double) extends Ends
final case class Texts(low: String, high: String)   extends Ends

object Ends {

  /** The ends of all parts; none where one part has none. */
  def hull(parts: Seq[Option[Ends]]): Option[Ends] = parts.reduceOption { (a, b) =>
    (a, b) match {
      case (Some(Numbers(l, h)), Some(Numbers(m, i))) => Some(Numbers(math.min(l, m), math.max(h, i)))
      case (Some(Texts(l, h)), Some(Texts(m, i)))     => Some(Texts(if (l <= m) l else m, if (h >= i) h else i))
      case _                                          => None
    }
  }.flatten
}

/** What the numbers of a column count. */
sealed trait Kind
object Kind {
  case object Number    extends Kind
  case object Date      extends Kind
  case object Timestamp extends Kind
  case object Other     extends Kind
}

/** A column in one row group: its non-null values and their ends. */
final case class Chunk(values: Double, ends: Option[Ends], distinct: Evidence)

/** What a chunk's encoding says of its distinct values. */
sealed trait Evidence

/** The writer tried a dictionary, and it did not pay: nearly every value is a new one. */
case object NoDictionary extends Evidence

/**
 * There is a dictionary page, whose header says how many entries it has.
 *
 * @param offset of the page in the file
 * @param bytes  of the chunk, encoded and not compressed, without its levels
 * @param fixed  bytes of a value outside of the dictionary, for types of fixed length
 * @param whole  whether all values are in the dictionary, where the footer says so
 */
final case class DictionaryAt(offset: Long, bytes: Double, fixed: Option[Double], whole: Option[Boolean]) extends Evidence

/** Distinct values of one column in one file, with the average bytes of its texts. */
final case class Distinct(ndv: Double, width: Option[Double])

/** What is known of one file: its footer, unless it cannot be read, and the distinct values of those columns that somebody has asked for so far. */
final class FooterEntry(val footer: Option[FileFooter]) {
  val distinct: ConcurrentHashMap[String, Option[Distinct]] = new ConcurrentHashMap
}
