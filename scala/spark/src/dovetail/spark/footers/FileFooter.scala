package org.apache.spark.sql.dovetail.footers

import java.util.Locale
import java.util.concurrent.ConcurrentHashMap

import dovetail.kernel.profile.Width
import org.apache.spark.sql.dovetail.deadline.Retry

/**
 * The statistics in the footer of one file, in terms that Parquet and ORC share. A [[FooterFormat]] makes it, the
 * [[FooterCache]] keeps it, and [[TableFooters]] adds it up over the files of a table.
 *
 * @param groups row groups in the order of the file, or stripes; empty if they are not listed separately
 * @param size   bytes of the footer in the file that a reader parses
 */
final case class FileFooter(
    rows: Long,
    columns: Map[String, ColumnFooter],
    groups: Vector[RowGroup] = Vector.empty,
    size: Long = 0L
) {

  private lazy val folded = columns.map { case (name, c) => name.toLowerCase(Locale.ROOT) -> c }

  /** The column as Spark finds it: by its exact name, otherwise in any letter case if the session ignores case. */
  def column(name: String, caseSensitive: Boolean): Option[ColumnFooter] =
    columns.get(name).orElse(if (caseSensitive) None else folded.get(name.toLowerCase(Locale.ROOT)))

  /** Without what the row groups reveal about distinct values of some columns: it is not needed any more. */
  def without(chunksOf: Set[String]): FileFooter =
    copy(columns = columns.map { case (name, c) => name -> (if (chunksOf(name)) c.copy(chunks = Vector.empty) else c) })

  /** Approximate bytes of memory. */
  lazy val bytes: Long = columns.valuesIterator.map(_.memory).sum + FileFooter.PerGroup * groups.size
}

object FileFooter {

  /** Bytes of a [[RowGroup]] and its place in a vector. */
  private val PerGroup = 48L
}

/**
 * Rows that are stored together in a file and can be read without the others. The start is a byte offset in the file.
 *
 * @param parts most rows of a part that a reader fetches at a time; None if it fetches the columns as a whole
 */
final case class RowGroup(start: Long, bytes: Long, rows: Long, parts: Option[Long] = None) {

  /** Most rows whose columns are in memory at the same time. */
  def atOnce: Long = parts.fold(rows)(math.min(_, rows))
}

/**
 * One column of one file.
 *
 * @param name    name as the file spells it
 * @param values  number of values that are not NULL, or of all values if NULLs are not counted
 * @param kind    kind of the numbers in `ends`: only a column of the same kind takes its range from them
 * @param bytes   bytes of all pages, nested columns included: encoded and not compressed in Parquet, bytes on disk in
 *                ORC
 * @param lengths lengths of the values of a variable-length type, if the footer tells them
 * @param atMost  most distinct values that the compressed bytes can hold, if this is known
 * @param chunks  some of the row groups, with what they reveal about distinct values
 * @param groups  number of row groups that have values of the column
 * @param parts   ends of some of these row groups, spread evenly over the file; empty if there is one row group, or if
 *                they are not known
 * @param leaves number of flat columns that a nested column consists of
 * @param unpacked bytes of the values as a reader unpacks them; 0 if they are no more than `bytes`, infinite if they
 *                 are unknown
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
    groups: Int = 0,
    parts: Vector[Numbers] = Vector.empty,
    unpacked: Double = 0.0,
    leaves: Int = 1
) {

  /** Bytes of the values in the memory of a reader. */
  def inMemory: Double = math.max(bytes.toDouble, unpacked)

  /** Share of the row groups with values between two numbers; None if their ends are not known. */
  def between(low: Double, high: Double): Option[Double] = {
    val known = if (parts.nonEmpty) parts else ends.toVector.collect { case n: Numbers => n }
    if (known.isEmpty) None else Some(known.count(n => n.low <= high && n.high >= low).toDouble / known.size)
  }

  /** Approximate bytes of memory. */
  def memory: Long =
    ColumnFooter.OwnBytes + name.length + ends.fold(0L)(_.memory) + Ends.OfNumbers * parts.size +
      chunks.iterator.map(c => ColumnFooter.PerChunk + c.ends.fold(0L)(_.memory)).sum
}

object ColumnFooter {

  /** Bytes of a column with its options, its name, its places in two maps and what is known of its distinct values. */
  private val OwnBytes = 450L

  /** Bytes of a [[Chunk]] with its [[DictionaryPlace]] and options. */
  private val PerChunk = 180L
}

/**
 * Bytes of the values of one column of one file in Spark's rows.
 *
 * @param mean    average bytes of a value
 * @param total   upper bound of the bytes of all values without their slots; None if there is no bound
 * @param longest upper bound of the bytes of one value; None if there is no bound
 */
final case class Lengths(mean: Double, total: Option[Double], longest: Option[Double])

object Lengths {

  /** Lengths of flat values that take at most `bytes` bytes together. */
  def flat(values: Double, bytes: Double): Lengths =
    Lengths(bytes / math.max(values, 1.0), Some(Width.padded(values, bytes)), None)

  /** Lengths of nested values, one per row, that take at most `bytes` bytes together: see [[NestedBytes]]. */
  def nested(rows: Double, bytes: Double): Lengths = Lengths(bytes / math.max(rows, 1.0), Some(bytes), None)
}

/**
 * The smallest and the largest value. Both are numbers, or both are the bytes of a string with one character per byte,
 * which sort as Parquet and ORC sort them.
 */
sealed trait Ends {

  /** Approximate bytes of memory. */
  def memory: Long
}
final case class Numbers(low: Double, high: Double) extends Ends {
  override def memory: Long = Ends.OfNumbers
}
final case class Texts(low: String, high: String) extends Ends {
  override def memory: Long = Ends.OfTexts + low.length + high.length
}

object Ends {

  /** Bytes of two numbers, and of two texts without their characters. */
  private[footers] val OfNumbers = 32L
  private[footers] val OfTexts   = 120L

  /** The smallest and the largest value of all parts; None if one part has none. */
  def hull(parts: Seq[Option[Ends]]): Option[Ends] = parts.reduceOption { (a, b) =>
    (a, b) match {
      case (Some(Numbers(l, h)), Some(Numbers(m, i))) => Some(Numbers(math.min(l, m), math.max(h, i)))
      case (Some(Texts(l, h)), Some(Texts(m, i)))     => Some(Texts(if (l <= m) l else m, if (h >= i) h else i))
      case _                                          => None
    }
  }.flatten
}

/** What the numbers of a column stand for. */
sealed trait Kind
object Kind {
  case object Number    extends Kind
  case object Date      extends Kind
  case object Timestamp extends Kind
  case object Other     extends Kind
}

/**
 * A column in one row group: the number of its non-null values, their ends, and what its encoding says about distinct
 * values.
 */
final case class Chunk(values: Double, ends: Option[Ends], distinct: Evidence)

/** What a chunk's encoding says about its distinct values. */
sealed trait Evidence

/** The writer tried a dictionary that did not pay off: nearly every value is new. */
case object NoDictionary extends Evidence

/**
 * The chunk has a dictionary page, whose header has the number of entries.
 *
 * @param offset offset of the page in the file
 * @param bytes  bytes of the chunk without its levels, encoded and not compressed
 * @param fixed  bytes of a value outside of the dictionary, for types of fixed length
 * @param whole  whether all values are in the dictionary, if the footer says so
 * @param codec  codec by which the page is compressed
 * @param stored bytes of the chunk with its levels, encoded and not compressed
 * @param plain  whether values outside of the dictionary are stored as they are: some encodings omit what a value has
 *               in common with the one before
 */
final case class DictionaryPlace(
    offset: Long,
    bytes: Double,
    fixed: Option[Double],
    whole: Option[Boolean],
    codec: String,
    stored: Double,
    plain: Boolean
) extends Evidence

/** Distinct values of one column in one file, and the lengths of its strings if its dictionaries tell them. */
final case class Distinct(ndv: Double, lengths: Option[Lengths])

/**
 * What is known about one file: its footer, unless it cannot be read, and the distinct values of the columns that
 * queries have asked for so far.
 *
 * @param isTooLarge whether the footer was not read because the driver has no room for it
 * @param until      when to try the file again ([[Retry]]), if it may be readable then
 */
final class FooterEntry(
    val footer: Option[FileFooter],
    val isTooLarge: Boolean = false,
    until: Option[Long] = None,
    val distinct: ConcurrentHashMap[String, Option[Distinct]] = new ConcurrentHashMap
) {

  /** Approximate bytes of memory. */
  val bytes: Long = FooterEntry.OwnBytes + footer.fold(0L)(_.bytes)

  def isOver: Boolean = Retry.isDue(until)

  /** The same, without what served to find distinct values of these columns. */
  def without(columns: Set[String]): FooterEntry =
    new FooterEntry(footer.map(_.without(columns)), isTooLarge, until, distinct)
}

object FooterEntry {

  /** Bytes of an entry with its [[FileKey]] and empty maps. */
  private val OwnBytes = 700L
}

/**
 * Upper bounds of the bytes that the parts of nested values take in Spark's rows (UnsafeArrayData, UnsafeMapData,
 * UnsafeRow).
 */
object NestedBytes {

  /**
   * Bytes of `n` lists, structs or maps without their contents: offset, number of elements, NULL bits, and half a word
   * of padding.
   */
  def containers(n: Double): Double = n * Container

  /** Bytes of `n` elements or fields, NULLs included: one word each, and its NULL bit. */
  def elements(n: Double): Double = n * (Width.Slot + 1.0)

  /** Bytes of `n` elements that are strings or other values of variable length and have `bytes` bytes together. */
  def texts(n: Double, bytes: Double): Double = elements(n) + bytes + n * (Width.Slot - 1.0)

  private val Container = 4.0 * Width.Slot
}
