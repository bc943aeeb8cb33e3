package dovetail.kernel.enumerate

import java.util.concurrent.TimeUnit

/**
 * Limits of a search: the number of pairs considered, and time. The first of the two that runs out ends the exact
 * search.
 *
 * @param nanos time for one step of the search, from now on
 * @param end   end of the whole search on the clock of `System.nanoTime`. It also ends the greedy step, which otherwise
 *              runs as long as it needs.
 */
final class Budget private (val pairs: Long, nanos: Long, end: Long) {
  private val deadline = { val own = System.nanoTime() + nanos; if (own - end < 0L) own else end }

  def timeLeft: Boolean = System.nanoTime() - deadline < 0L

  /** Whether a search may go on after so many pairs. It looks at the clock from time to time. */
  def allows(count: Long): Boolean = count <= pairs && ((count & Budget.ClockInterval) != 0L || timeLeft)

  /** Whether the whole search must end, including cheap steps. */
  def over: Boolean = System.nanoTime() - end >= 0L

  /** A new budget of the same size that starts now and ends no later than this one's `end`. */
  def again: Budget = new Budget(pairs, nanos, end)

  /** The same, with at most half of the time until `end`: the other half is for what follows. */
  def inRest: Budget = new Budget(pairs, math.min(nanos, (end - System.nanoTime()) / 2L), end)
}

object Budget {

  /** Number of pairs between two looks at the clock, as a bit mask: a look costs about as much as a pair. */
  private[enumerate] val ClockInterval = 255L

  def apply(pairs: Long, millis: Long): Budget = within(pairs, TimeUnit.MILLISECONDS.toNanos(millis), Unlimited)

  /** @param left nanoseconds for all steps together */
  def within(pairs: Long, nanos: Long, left: Long): Budget =
    new Budget(pairs, nanos, System.nanoTime() + math.min(left, Unlimited))

  def unlimited: Budget = within(Long.MaxValue, Unlimited, Unlimited)

  /** Some 73 years: sums with the clock, and differences of such sums, do not overflow. */
  private val Unlimited = Long.MaxValue / 4
}
