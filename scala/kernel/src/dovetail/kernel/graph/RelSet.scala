package dovetail.kernel.graph

/**
 * A set of relations of one join graph as a bit mask: bit `i` stands for relation `i`. It holds at most 64 relations,
 * which is the limit of the exact search. `enumerate.Greedy` searches larger graphs by clusters of relations, so the
 * limit applies to the exact search and not to a query.
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
   * Returns the subset of this set that follows `s` in ascending order of bits (Vance and Maier 1996). In this order a
   * subset comes before its supersets. The first nonempty subset follows the empty set, and the empty set follows the
   * last subset. This is a single step and not a `foreach`, because there can be up to 2^64 subsets and a search must
   * be able to stop.
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
