package dovetail.kernel.graph

/**
 * An immutable set of relations of a graph of any size, 64 relations per word. It serves the searches that are not
 * exact, as [[RelSet]] serves the exact search.
 */
final class WideSet private (private[graph] val words: Array[Long]) {
  def |(that: WideSet): WideSet          = new WideSet(Words.union(words, that.words))
  def overlaps(that: WideSet): Boolean   = Words.overlap(words, that.words)
  def isSubsetOf(that: WideSet): Boolean = Words.within(words, that.words)
  def contains(relation: Int): Boolean   = (words(relation >>> 6) >>> relation & 1L) != 0L
  def size: Int                          = Words.count(words)

  /** Whether `p` holds for some relation of the set. Tests the relations in ascending order. */
  def exists(p: Int => Boolean): Boolean = {
    var i = 0
    while (i < words.length) {
      var bits = words(i)
      while (bits != 0L) { if (p((i << 6) + java.lang.Long.numberOfTrailingZeros(bits))) return true; bits &= bits - 1 }
      i += 1
    }
    false
  }

  /** Writes the relations in ascending order to the beginning of `out`. Returns their number. */
  def copyTo(out: Array[Int]): Int = Words.copy(words, out)
}

object WideSet {

  /** A set of relations of a graph with `size` relations. Sets of graphs of different sizes must not be mixed. */
  def apply(size: Int, relations: Iterable[Int]): WideSet = {
    val all = relations.toArray
    new WideSet(new Words(size).packed(all, all.length))
  }
}
