package dovetail.kernel.graph

/**
 * A set of relations of one join graph, bit `i` for relation `i`: at most 64 of them, which is what the exact search works on.
 * Larger graphs are searched on clusters of relations (`enumerate.Greedy`), so the limit is one of the exact search, not of a query.
 */
final class RelSet(val bits: Long) extends AnyVal {
  def |(that: RelSet): RelSet           = new RelSet(bits | that.bits)
  def &(that: RelSet): RelSet           = new RelSet(bits & that.bits)
  def -(that: RelSet): RelSet           = new RelSet(bits & ~that.bits)
  def isEmpty: Boolean                  = bits == 0L
  def nonEmpty: Boolean                 = bits != 0L
  def contains(relation: Int): Boolean  = (bits >>> relation & 1L) != 0L
  def overlaps(that: RelSet): Boolean   = (bits & that.bits) != 0L
  def isSubsetOf(that: RelSet): Boolean = (bits & ~that.bits) == 0L
  def size: Int                         = java.lang.Long.bitCount(bits)
  def min: Int                          = java.lang.Long.numberOfTrailingZeros(bits)
  def max: Int                          = 63 - java.lang.Long.numberOfLeadingZeros(bits)
  def toVector: Vector[Int]             = Iterator.iterate(bits)(b => b & (b - 1)).takeWhile(_ != 0L).map(b => java.lang.Long.numberOfTrailingZeros(b)).toVector
  override def toString: String         = toVector.mkString("{", ",", "}")

  /** Calls `f` for every non-empty subset, in ascending order of bits: a subset always comes before its supersets. */
  @inline def foreachSubset(f: RelSet => Unit): Unit = {
    var s = bits & -bits
    while (s != 0L) {
      f(new RelSet(s))
      s = (s - bits) & bits // Vance and Maier's subset step: the next subset of `bits` after `s`
    }
  }
}

object RelSet {
  val MaxSize                        = 64
  val empty: RelSet                  = new RelSet(0L)
  def single(relation: Int): RelSet  = new RelSet(1L << relation)
  def apply(relations: Int*): RelSet = new RelSet(relations.foldLeft(0L)((bits, r) => bits | 1L << r))

  /** The first `n` relations. */
  def first(n: Int): RelSet = new RelSet(if (n >= MaxSize) -1L else (1L << n) - 1)

  /** All relations up to and including `relation`: the paper's B_v (Moerkotte and Neumann 2008, §3.1). */
  def upTo(relation: Int): RelSet = first(relation + 1)
}
