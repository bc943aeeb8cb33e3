package dovetail.kernel.cost

import dovetail.kernel.profile.{Assumptions, Estimate, RelationProfile}

/**
 * Bytes of memory that a broadcast takes once it is built: Spark's `HashedRelation`, which holds every row and a table
 * of their keys. What it takes for moments while it is collected, built and sent is the caller's to leave room for.
 */
object BroadcastMemory {

  /**
   * @param rows  that are broadcast
   * @param bytes of their columns
   */
  def apply(rows: Double, bytes: Double): Double =
    math.min(Estimate.Ceiling, Pages * (bytes + rows * Assumptions.RowOverhead) + rows * HashTable.Slots)

  /** At most, for these columns of all rows; [[Estimate.Ceiling]] where the rows or a width have no bound. */
  def bound(input: RelationProfile, columns: Iterable[Long]): Double = {
    val most  = input.rows.upper
    val bytes = input.rowBytes(columns).atMost(most, most)
    if (bytes < Estimate.Ceiling) apply(most, bytes) else Estimate.Ceiling
  }

  /** Bytes that a table has for a byte of its rows, at most: it doubles its room when it is full. */
  private val Pages = 2.0
}
