package dovetail.kernel.graph

import scala.collection.immutable.BitSet

/**
 * Packs sets of relations of one graph of any size into arrays of 64-bit words. The searches test such sets for every
 * pair and every set of a graph with operators.
 */
final private[kernel] class Words(relations: Int) {
  val length: Int = (relations + 63) / 64

  // the mask of a BitSet may have more or fewer words
  def packed(set: collection.BitSet): Array[Long] = java.util.Arrays.copyOf(set.toBitMask, length)

  /** Packs the first `count` entries of `relations`. */
  def packed(relations: Array[Int], count: Int): Array[Long] = {
    val words = new Array[Long](length)
    var i     = 0
    while (i < count) { words(relations(i) >> 6) |= 1L << relations(i); i += 1 }
    words
  }
}

private[kernel] object Words {
  def within(a: Array[Long], b: Array[Long]): Boolean = {
    var i = 0; while (i < a.length) { if ((a(i) & ~b(i)) != 0L) return false; i += 1 }; true
  }

  /** The same for other sets, word by word: `BitSet.subsetOf` asks for each relation. */
  def within(a: BitSet, b: BitSet): Boolean = (a &~ b).isEmpty

  def overlap(a: Array[Long], b: Array[Long]): Boolean = {
    var i = 0; while (i < a.length) { if ((a(i) & b(i)) != 0L) return true; i += 1 }; false
  }
  def count(a: Array[Long]): Int = {
    var n = 0; var i = 0; while (i < a.length) { n += java.lang.Long.bitCount(a(i)); i += 1 }; n
  }
  def union(a: Array[Long], b: Array[Long]): Array[Long] = {
    val u = a.clone(); var i = 0; while (i < u.length) { u(i) |= b(i); i += 1 }; u
  }
  def common(a: Array[Long], b: Array[Long]): Array[Long] = {
    val c = a.clone(); var i = 0; while (i < c.length) { c(i) &= b(i); i += 1 }; c
  }
  def without(a: Array[Long], b: Array[Long]): Array[Long] = {
    val d = a.clone(); var i = 0; while (i < d.length) { d(i) &= ~b(i); i += 1 }; d
  }

  /** The smallest relation of a nonempty set. */
  def first(a: Array[Long]): Int = {
    var i = 0; while (a(i) == 0L) i += 1; i * 64 + java.lang.Long.numberOfTrailingZeros(a(i))
  }

  /** The relations of a set in ascending order. */
  def toArray(a: Array[Long]): Array[Int] = { val out = new Array[Int](count(a)); copy(a, out); out }

  /** Writes the relations of a set in ascending order to the beginning of `out`. Returns their number. */
  def copy(a: Array[Long], out: Array[Int]): Int = {
    var n = 0
    var i = 0
    while (i < a.length) {
      var bits = a(i)
      while (bits != 0L) { out(n) = i * 64 + java.lang.Long.numberOfTrailingZeros(bits); n += 1; bits &= bits - 1 }
      i += 1
    }
    n
  }

  /** A set of relations as a map key. The caller must not change `words` afterwards. */
  final class Key(private val words: Array[Long]) {
    override val hashCode: Int              = java.util.Arrays.hashCode(words)
    override def equals(that: Any): Boolean =
      that match { case k: Key => java.util.Arrays.equals(words, k.words); case _ => false }
  }

  /**
   * A set of relations that is compared with many others. In a large graph, most such sets have only a few nonzero
   * words next to each other, so the comparisons skip the other words.
   */
  final class Mask(val words: Array[Long]) {
    private val from  = math.max(0, words.indexWhere(_ != 0L))
    private val until = words.lastIndexWhere(_ != 0L) + 1

    def within(set: Array[Long]): Boolean = {
      var i = from; while (i < until) { if ((words(i) & ~set(i)) != 0L) return false; i += 1 }; true
    }
    def overlaps(set: Array[Long]): Boolean = {
      var i = from; while (i < until) { if ((words(i) & set(i)) != 0L) return true; i += 1 }; false
    }
  }
}
