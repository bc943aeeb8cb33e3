package dovetail.kernel.graph

/** A set of relations of a graph of any size, 64 to a word: what [[RelSet]] is to the searches that are not exact. Immutable. */
final class WideSet private (private val words: Array[Long]) {

  def |(that: WideSet): WideSet = {
    val union = words.clone()
    var i     = 0
    while (i < union.length) { union(i) |= that.words(i); i += 1 }
    new WideSet(union)
  }

  def overlaps(that: WideSet): Boolean = {
    var i = 0
    while (i < words.length) { if ((words(i) & that.words(i)) != 0L) return true; i += 1 }
    false
  }

  def isSubsetOf(that: WideSet): Boolean = {
    var i = 0
    while (i < words.length) { if ((words(i) & ~that.words(i)) != 0L) return false; i += 1 }
    true
  }

  def contains(relation: Int): Boolean = (words(relation >>> 6) >>> relation & 1L) != 0L
  def size: Int                        = { var n = 0; var i = 0; while (i < words.length) { n += java.lang.Long.bitCount(words(i)); i += 1 }; n }

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
