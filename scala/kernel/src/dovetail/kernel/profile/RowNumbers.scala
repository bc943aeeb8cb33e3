package dovetail.kernel.profile

import java.util.Arrays

/**
 * A set of a sample's rows, by their numbers. It is kept as bits, which take a thirtieth of the memory of the numbers
 * and compare as fast. The numbers are computed when a caller loops over them.
 *
 * @param words bits from row 0 on, without trailing zero words
 */
final class RowNumbers private (words: Array[Long]) {
  import RowNumbers.Word

  /** Number of rows. */
  lazy val size: Int = { var n = 0; words.foreach(w => n += java.lang.Long.bitCount(w)); n }

  /** The row numbers, ascending. Callers must not change the array. */
  lazy val toArray: Array[Int] = numbers

  // a method of its own: the JVM interprets a loop that runs while the lock of a lazy value is held
  private def numbers: Array[Int] = {
    val numbers = new Array[Int](size)
    var (i, at) = (0, 0)
    while (i < words.length) {
      var bits = words(i)
      while (bits != 0L) {
        numbers(at) = i * Word + java.lang.Long.numberOfTrailingZeros(bits)
        at += 1
        bits &= bits - 1L
      }
      i += 1
    }
    numbers
  }

  /** Hash of the bits. Two sets with the same one of 2^64^ hashes are too rare to matter. */
  lazy val hash: Long = hashed

  // as above; a fold would make an object of each word
  private def hashed: Long = {
    var hash = words.length.toLong
    var i    = 0
    while (i < words.length) { hash = RelationSample.together(hash, words(i)); i += 1 }
    hash
  }

  /** Bytes of memory, without the array of numbers. */
  def bytes: Long = words.length.toLong * java.lang.Long.BYTES

  /** The same rows without the array of numbers, for callers that keep them. */
  def packed: RowNumbers = new RowNumbers(words)

  def filter(keep: Int => Boolean): RowNumbers = {
    val kept = new Array[Long](words.length)
    var i    = 0
    while (i < words.length) {
      var bits = words(i)
      while (bits != 0L) {
        val bit = java.lang.Long.lowestOneBit(bits)
        if (keep(i * Word + java.lang.Long.numberOfTrailingZeros(bit))) kept(i) |= bit
        bits ^= bit
      }
      i += 1
    }
    RowNumbers.of(kept)
  }

  /** Number of rows from `from` up to, but not including, `until`. */
  def between(from: Int, until: Int): Int = before(until) - before(from)

  private def before(row: Int): Int = {
    val whole  = math.min(row / Word, words.length)
    var (n, i) = (0, 0)
    while (i < whole) { n += java.lang.Long.bitCount(words(i)); i += 1 }
    if (whole < words.length) n + java.lang.Long.bitCount(words(whole) & ((1L << row) - 1L)) else n
  }

  override def hashCode: Int = Arrays.hashCode(words)

  override def equals(other: Any): Boolean = other match {
    case o: RowNumbers => o.sameBits(words)
    case _             => false
  }

  private def sameBits(others: Array[Long]): Boolean = Arrays.equals(words, others)

  override def toString: String = s"RowNumbers($size)"
}

object RowNumbers {

  /** Rows per word. */
  private val Word = java.lang.Long.SIZE

  /** All rows of a sample. */
  def all(rows: Int): RowNumbers = {
    val words = Array.fill((rows + Word - 1) / Word)(-1L)
    if (rows % Word != 0) words(words.length - 1) = (1L << rows) - 1L
    new RowNumbers(words)
  }

  private def of(words: Array[Long]): RowNumbers = {
    var n = words.length
    while (n > 0 && words(n - 1) == 0L) n -= 1
    new RowNumbers(if (n == words.length) words else Arrays.copyOf(words, n))
  }
}
