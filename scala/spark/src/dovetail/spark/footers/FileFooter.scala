package org.apache.spark.sql.dovetail.footers

import java.util.Locale
import java.util.concurrent.ConcurrentHashMap

import dovetail.kernel.profile.Width

/**
 * What the footer of one file says, in words that Parquet and ORC share: made by a [[FooterFormat]], kept in the
 * [[FooterCache]], added up over the files of a table by [[TableFooters]].
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
 * @param lengths of values of variable length, where the footer tells
 * @param atMost distinct values that the compressed bytes can hold, where that says anything
 * @param chunks of some of the row groups, with what they give away of their distinct values
 * @param groups row groups with values of the column
 */
final case class ColumnFooter(
    name: String,
    values: Long,
    nulls: Option[Long],
    kind: Kind,
    ends: Option[Ends],
    bytes: Long,
    lengths: Option[Lengths] = None,
    atMost: Option[Double] = None,
    chunks: Vector[Chunk] = Vector.empty,
    groups: Int = 0
)

/**
 * Bytes of the values of one column of one file, as rows have them.
 *
 * @param mean    of a value
 * @param total   of all values at most, besides their slots; None where nothing bounds them
 * @param longest value at most; None where nothing bounds it
 */
final case class Lengths(mean: Double, total: Option[Double], longest: Option[Double])

object Lengths {

  /** Of so many values that have so many bytes at most, all together. */
  def flat(values: Double, bytes: Double): Lengths =
    Lengths(bytes / math.max(values, 1.0), Some(Width.padded(values, bytes)), None)

  /** Of nested values, all of which take so many bytes at most: see [[NestedBytes]]. */
  def nested(rows: Double, bytes: Double): Lengths = Lengths(bytes / math.max(rows, 1.0), Some(bytes), None)
}

/**
 * The smallest and the largest value, both numbers or both the bytes of a text, one character each, which sort as
 * Parquet and ORC sort them.
 */
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
 * @param codec  by which the page is compressed
 * @param stored bytes of the chunk, encoded and not compressed, with its levels
 */
final case class DictionaryPlace(
    offset: Long,
    bytes: Double,
    fixed: Option[Double],
    whole: Option[Boolean],
    codec: String,
    stored: Double
) extends Evidence

/** Distinct values of one column in one file, with the lengths of its texts as far as its dictionaries tell. */
final case class Distinct(ndv: Double, lengths: Option[Lengths])

/**
 * What is known of one file: its footer, unless it cannot be read, and the distinct values of those columns that
 * somebody has asked for so far.
 */
final class FooterEntry(val footer: Option[FileFooter]) {
  val distinct: ConcurrentHashMap[String, Option[Distinct]] = new ConcurrentHashMap
}

/** Bytes that the parts of nested values take in Spark's rows (UnsafeArrayData, UnsafeMapData, UnsafeRow), at most. */
object NestedBytes {

  /**
   * Of so many lists, structs or maps besides what is in them: offset, number of elements, bits of NULLs, and half a
   * word to fill up.
   */
  def containers(n: Double): Double = n * Container

  /** Of so many elements or fields, NULLs included: a word each, and the bit that says whether it is NULL. */
  def elements(n: Double): Double = n * (Width.Slot + 1.0)

  /** Of as many that are texts or other values of variable length, and have so many bytes together. */
  def texts(n: Double, bytes: Double): Double = elements(n) + bytes + n * (Width.Slot - 1.0)

  private val Container = 4.0 * Width.Slot
}
