package dovetail.kernel.enumerate

import dovetail.kernel.graph.RelSet

/** What an enumerator reports to (MySQL's receiver pattern): the same enumeration fills a plan table, counts pairs, or is checked by a test. */
trait Receiver {

  /** A single relation; all of them come before the first pair. */
  def relation(r: Int): Unit

  /**
   * A csg-cmp pair: two disjoint connected sets with an edge between them. Each pair comes once, in one orientation, after all pairs of either half.
   * Returns false to stop the enumeration.
   */
  def pair(left: RelSet, right: RelSet): Boolean

  /** The set has been reported, as a relation or as the union of a pair. */
  def contains(set: RelSet): Boolean

  /** Asked now and then where pairs are far between: false stops the enumeration. */
  def timeLeft: Boolean = true
}

/** How much searching is allowed: pairs considered, and time. The first of the two that runs out ends the exact search. */
final class Budget(val pairs: Long, nanos: Long) {
  private val deadline = System.nanoTime() + nanos

  def timeLeft: Boolean = System.nanoTime() - deadline < 0L

  /** As much again, from now on. */
  def again: Budget = new Budget(pairs, nanos)
}

object Budget {
  def apply(pairs: Long, millis: Long): Budget = new Budget(pairs, millis * 1000000L)
  def unlimited: Budget                        = new Budget(Long.MaxValue, Long.MaxValue / 4)
}
