package dovetail.kernel.profile

import java.util.Arrays

/**
 * Sizes of the sets of a group's relations that were counted on samples, for all who plan a group like it; any thread
 * may ask.
 *
 * @param relations that are covered by samples
 */
final class SetCounts(relations: Int) {
  import SetCounts._

  private val most = if (relations < WidestWhole) 1 << relations else Most

  // open addressing, at most half full; no set is 0
  private val sets = new Array[Long](2 * most)
  private val rows = new Array[Double](2 * most)
  private var held = 0

  /** Bytes of memory, with the group that they are kept for. */
  val bytes: Long = sets.length.toLong * (java.lang.Long.BYTES + java.lang.Double.BYTES) + GroupBytes

  /** @param count makes the size where nobody has, without a lock: who comes second counts, too, and finds the same */
  def getOrCount(set: Long)(count: => Double): Double = {
    val known = get(set)
    if (!known.isNaN) known
    else {
      val counted = count
      put(set, counted)
      counted
    }
  }

  private def get(set: Long): Double = synchronized { val p = place(set); if (sets(p) == set) rows(p) else Double.NaN }

  private def put(set: Long, size: Double): Unit = synchronized {
    val p = place(set)
    if (sets(p) != set && held < most) { sets(p) = set; rows(p) = size; held += 1 }
  }

  /** Where the set is, or would be. */
  private def place(set: Long): Int = {
    var p = ((set * Spread) >>> 32).toInt & (sets.length - 1)
    while (sets(p) != 0L && sets(p) != set) p = (p + 1) & (sets.length - 1)
    p
  }
}

object SetCounts {

  /** A group of joins by all that its counts depend on. */
  final class Group(private val parts: Array[Long]) {
    override val hashCode: Int = Arrays.hashCode(parts)

    override def equals(other: Any): Boolean = other match {
      case o: Group => Arrays.equals(parts, o.parts)
      case _        => false
    }
  }

  /** Of a [[Group]], about: some 20 numbers per relation. */
  private val GroupBytes = 2048L

  /** Sets of a wide group that are kept: 128 KB. */
  private val Most = 4096

  /** Relations whose sets are all kept: fewer than this. */
  private val WidestWhole = 12

  /** 2^64 over the golden ratio: Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4). */
  private val Spread = 0x9e3779b97f4a7c15L
}
