package dovetail.kernel.enumerate

/**
 * The budget that the searches after the exact one share. The limit of pairs ends a search at the same point every
 * time; the clock is the emergency brake.
 *
 * The time of an estimate is proportional to the size of the set, so an estimate is charged as a number of pairs.
 * Otherwise the improvement of 1,000 relations would take many times as long as that of a hundred with the same pairs.
 */
final class Meter(budget: Budget) {
  private var count   = 0L
  private var charged = 0L
  private var running = true

  /** Number of pairs considered. */
  def pairs: Long = count

  /** Number of pairs that may still be considered. */
  def left: Long = budget.pairs - count - charged / Meter.RelationsPerPair

  /** Whether both pairs and time are left. */
  def open: Boolean = left > 0 && inTime

  def inTime: Boolean = { if (!budget.timeLeft) running = false; running }

  /** Charges the estimate of a set of relations with its neighbors, which must be looked at as well. */
  def estimate(set: Fragment): Unit = charged += set.relations.size + set.neighbors.size

  /** Counts a pair. Returns false if it may not be considered any more. */
  def pair(): Boolean = running && left > 0 && {
    count += 1
    (count & Budget.ClockInterval) != 0L || inTime
  }
}

object Meter {

  /**
   * Number of relations and neighbors of a set whose estimate takes as long as a pair: some 50 ns each, a pair a
   * microsecond.
   */
  private val RelationsPerPair = 16
}
