package dovetail.kernel.enumerate

/**
 * What the searches after the exact one have left of their budget, together. Pairs end a search at the same point every
 * time; the clock is the emergency brake.
 *
 * An estimate takes as long as the set is large, so it is charged as so many pairs: else the improvement of 1,000
 * relations would take many times as long as that of a hundred with the same pairs.
 */
final class Meter(budget: Budget) {
  private var count   = 0L
  private var charged = 0L
  private var running = true

  /** Pairs considered. */
  def pairs: Long = count

  /** Pairs that may still be considered. */
  def left: Long = budget.pairs - count - charged / Meter.RelationsPerPair

  /** Neither pairs nor time have run out. */
  def open: Boolean = left > 0 && inTime

  def inTime: Boolean = { if (!budget.timeLeft) running = false; running }

  /** Charges an estimate of a set of relations with its neighbours, which have to be looked at as well. */
  def estimate(set: Fragment): Unit = charged += set.relations.size + set.neighbors.size

  /** Counts a pair; false if it may not be considered any more. */
  def pair(): Boolean = running && left > 0 && {
    count += 1
    (count & PlanTable.ClockInterval) != 0L || inTime
  }
}

object Meter {

  /**
   * Relations and neighbours of a set whose estimate takes as long as a pair: some 50 ns each, against a microsecond.
   */
  private val RelationsPerPair = 16
}
