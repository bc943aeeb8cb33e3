package dovetail.kernel.enumerate

/**
 * What the searches after the exact one have left of their budget, together. Pairs end a search at the same point every time; the clock is the emergency
 * brake.
 */
final class Meter(budget: Budget) {
  private var count   = 0L
  private var running = true

  /** Pairs considered. */
  def pairs: Long = count

  /** Pairs that may still be considered. */
  def left: Long = budget.pairs - count

  /** Neither pairs nor time have run out. */
  def open: Boolean = left > 0 && inTime

  def inTime: Boolean = { if (!budget.timeLeft) running = false; running }

  /** Counts a pair; false if it may not be considered any more. */
  def pair(): Boolean = {
    if (!running || count >= budget.pairs) false
    else {
      count += 1
      (count & PlanTable.ClockInterval) != 0L || inTime
    }
  }
}
