package dovetail.kernel.graph

/**
 * A set of relations of a graph of any size, 64 to a word: what [[RelSet]] is to the searches that are not exact.
 * Immutable.
 */
final class WideSet private (private[graph] val words: Array[Long]) {
  def |(that: WideSet): WideSet          = new WideSet(Words.union(words, that.words))
  def overlaps(that: WideSet): Boolean   = Words.overlap(words, that.words)
  def isSubsetOf(that: WideSet): Boolean = Words.within(words, that.words)
  def contains(relation: Int): Boolean   = (words(relation >>> 6) >>> relation & 1L) != 0L
  def size: Int                          = Words.count(words)

  /** Some relation of the set is one that `p` holds of; asked in ascending order. */
  def exists(p: Int => Boolean): Boolean = {
    var i = 0
    while (i < words.length) {
      var bits = words(i)
      while (bits != 0L) { if (p((i << 6) + java.lang.Long.numberOfTrailingZeros(bits))) return true; bits &= bits - 1 }
      i += 1
    }
    false
  }

  /** Writes the relations, ascending, to the beginning of `out`; returns how many. */
  def copyTo(out: Array[Int]): Int = {
    var n = 0
    var i = 0
    while (i < words.length) {
      var bits = words(i)
      while (bits != 0L) { out(n) = (i << 6) + java.lang.Long.numberOfTrailingZeros(bits); n += 1; bits &= bits - 1 }
      i += 1
    }
    n
  }
}

object WideSet {

  /** Of a graph of `size` relations: sets of different sizes of graphs do not mix. */
  def apply(size: Int, relations: Iterable[Int]): WideSet = {
    val words = new Array[Long]((size + 63) >>> 6)
    relations.foreach(r => words(r >>> 6) |= 1L << r)
    new WideSet(words)
  }
}
