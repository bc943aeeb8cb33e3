package dovetail.kernel.profile

import java.util.Arrays

/**
 * A cache of the sizes that were counted on samples for the sets of relations of one group of joins. All queries that
 * plan the same group share it. Thread-safe.
 *
 * @param relations number of relations covered by samples
 */
final class SetCounts(relations: Int) {
  import SetCounts._

  private val most = if (relations < WidestWhole) 1 << relations else MostSets

  // open addressing, at most half full; 0 marks a free slot
  private val sets = new Array[Long](2 * most)
  private val rows = new Array[Double](2 * most)
  private var held = 0

  /** Bytes of memory, including the group that these counts are kept for. */
  val bytes: Long = sets.length.toLong * (java.lang.Long.BYTES + java.lang.Double.BYTES) + GroupBytes

  /**
   * @param count computes the size if it is not known yet. It runs without a lock: a second thread may count too, and
   *              finds the same size.
   */
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

  /** The slot that holds the set, or in which it would be stored. */
  private def place(set: Long): Int = {
    var p = (FibonacciHash(set) >>> 32).toInt & (sets.length - 1)
    while (sets(p) != 0L && sets(p) != set) p = (p + 1) & (sets.length - 1)
    p
  }
}

object SetCounts {

  /** A group of joins, identified by everything that its counts depend on. */
  final class Group(private val parts: Array[Long]) {
    override val hashCode: Int = Arrays.hashCode(parts)

    /** The group for one of several figures that are counted for the same joins. */
    def of(figure: Long): Group = new Group(figure +: parts)

    override def equals(other: Any): Boolean = other match {
      case o: Group => Arrays.equals(parts, o.parts)
      case _        => false
    }
  }

  /** Approximate bytes of a [[Group]]: some 20 numbers per relation. */
  private val GroupBytes = 2048L

  /** Number of sets kept for a wide group: 128 KB. */
  private val MostSets = 4096

  /** A group with fewer relations than this keeps all its sets. */
  private val WidestWhole = 12
}
