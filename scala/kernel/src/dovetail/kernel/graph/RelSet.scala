package dovetail.kernel.graph

/**
 * A set of relations of one join graph, bit `i` for relation `i`: at most 64 of them, which is what the exact search
 * works on. Larger graphs are searched on clusters of relations (`enumerate.Greedy`), so the limit is one of the exact
 * search, not of a query.
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
  def toVector: Vector[Int]             = Iterator.iterate(bits)(b => b & (b - 1)).takeWhile(_ != 0L).map(b =>
    java.lang.Long.numberOfTrailingZeros(b)
  ).toVector
  override def toString: String = toVector.mkString("{", ",", "}")

  /**
   * The subset that follows `s` when all subsets are taken in ascending order of bits, so that a subset comes before
   * its supersets; the first one follows the empty set, which also follows the last one (Vance and Maier 1996). A step
   * rather than a `foreach`: there are up to 2^64 of them, and a search that has to stop must be able to.
   */
  def nextSubset(s: RelSet): RelSet = new RelSet((s.bits - bits) & bits)
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
