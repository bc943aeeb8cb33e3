package dovetail.kernel.cost

import dovetail.kernel.profile.{Assumptions, Estimate, RelationProfile}

/**
 * Bytes of memory that a broadcast takes once it is built: Spark's `HashedRelation`, which holds every row and a table
 * of their keys. The caller must leave room for the temporary memory while the broadcast is collected, built and sent.
 */
object BroadcastMemory {

  /**
   * @param rows  rows that are broadcast
   * @param bytes bytes of their columns
   */
  def apply(rows: Double, bytes: Double): Double =
    math.min(Estimate.Ceiling, Pages * (bytes + rows * Assumptions.RowOverhead) + rows * HashTable.Slots)

  /** Maximum memory for these columns of all rows; [[Estimate.Ceiling]] if the rows or a width have no bound. */
  def bound(input: RelationProfile, columns: Iterable[Long]): Double = {
    val most  = input.rows.upper
    val bytes = input.rowBytes(columns).atMost(most, most)
    if (bytes < Estimate.Ceiling) apply(most, bytes) else Estimate.Ceiling
  }

  /** Maximum bytes of a table per byte of its rows: it doubles its room when it is full. */
  private val Pages = 2.0
}
