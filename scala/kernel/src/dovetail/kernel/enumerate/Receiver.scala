package dovetail.kernel.enumerate

import dovetail.kernel.graph.RelSet

/**
 * What an enumerator reports to (MySQL's receiver pattern): the same enumeration fills a plan table, counts pairs, or
 * is checked by a test.
 */
trait Receiver {

  /** A single relation; all of them come before the first pair. */
  def relation(r: Int): Unit

  /**
   * A csg-cmp pair: two disjoint connected sets with an edge between them. Each pair comes once, in one orientation,
   * after all pairs of either half. Returns false to stop the enumeration.
   */
  def pair(left: RelSet, right: RelSet): Boolean

  /** The set has been reported, as a relation or as the union of a pair. */
  def contains(set: RelSet): Boolean

  /** Asked now and then where pairs are far between: false stops the enumeration. */
  def timeLeft: Boolean = true
}

/**
 * How much searching is allowed: pairs considered, and time. The first of the two that runs out ends the exact search.
 *
 * @param nanos for one step of the search, from now on
 * @param end   of the whole search, on the clock of `System.nanoTime`: also the greedy step, which has to be done
 *              whatever it takes, ends then
 */
final class Budget private (val pairs: Long, nanos: Long, end: Long) {
  private val deadline = { val own = System.nanoTime() + nanos; if (own - end < 0L) own else end }

  def timeLeft: Boolean = System.nanoTime() - deadline < 0L

  /** Not even what costs little may go on. */
  def over: Boolean = System.nanoTime() - end >= 0L

  /** As much again, from now on, as far as the end allows. */
  def again: Budget = new Budget(pairs, nanos, end)
}

object Budget {
  def apply(pairs: Long, millis: Long): Budget = new Budget(pairs, millis * 1000000L, System.nanoTime() + Unlimited)

  /** @param left nanoseconds for all steps together */
  def within(pairs: Long, nanos: Long, left: Long): Budget =
    new Budget(pairs, nanos, System.nanoTime() + math.min(left, Unlimited))

  def unlimited: Budget = within(Long.MaxValue, Unlimited, Unlimited)

  /** A century and a half: sums with the clock, and differences of these, do not overflow. */
  private val Unlimited = Long.MaxValue / 4
}
