package dovetail.kernel.cost

/**
 * How unevenly the rows of a set are distributed over its join keys. All rows of one key go to one task, and a shuffled
 * join waits for its slowest task (DeWitt, Naughton, Schneider and Seshadri, "Practical skew handling in parallel
 * joins", VLDB 1992). The search creates it (`KeyFacts`), and [[PhysicalCosts]] prices it.
 *
 * @param most share of the most frequent value of any key
 */
final class KeySkew private (val most: Double, found: () => Vector[(Long, Double)]) {

  // computed only if a plan's cost depends on it, which is not the case for most sets of relations
  private lazy val entries: Vector[(Long, Double)] = found()
  private lazy val bits: Array[Long]               = entries.map(_._1).toArray
  private lazy val shares: Array[Double]           = entries.map(_._2).toArray

  /**
   * Upper bound of the share of the rows that have the most frequent combination of these keys; 0 if it is not known to
   * be large.
   *
   * @param key keys as a partitioning mask
   */
  def largest(key: Long): Double = {
    var least = 1.0
    var known = 0L
    var i     = 0
    while (i < bits.length) {
      if ((bits(i) & key) != 0L) { known |= bits(i); least = math.min(least, shares(i)) }
      i += 1
    }
    if (key == 0L || (key & ~known) != 0L) 0.0 else least
  }
}

object KeySkew {

  /** No key is known to have a frequent value. */
  val none: KeySkew = new KeySkew(0.0, () => Vector.empty)

  /** Shares below this are not kept: a thousand tasks at a time would not wait for such a key. */
  private val LeastShare = 0.001

  /** The skew of one relation: the share of its most frequent value, by the bit of each key. */
  def apply(shares: Iterable[(Long, Double)]): KeySkew = {
    val kept = largest(shares).filter(_._2 >= LeastShare)
    if (kept.isEmpty) none else new KeySkew(kept.map(_._2).max, () => kept)
  }

  /**
   * The skew of a join: a value is as frequent in it as in the input in which it is most frequent. A partner without
   * the value would reduce its share; a partner that only has few values does not.
   */
  def joined(inputs: Iterable[KeySkew]): KeySkew = inputs.filterNot(_ eq none).toVector match {
    case Vector()    => none
    case Vector(one) => one
    case several     => new KeySkew(several.map(_.most).max, () => largest(several.flatMap(_.entries)))
  }

  private def largest(shares: Iterable[(Long, Double)]): Vector[(Long, Double)] =
    shares.groupBy(_._1).toVector.map { case (bit, ss) => bit -> ss.map(_._2).max }.sortBy(_._1)
}
