package dovetail.kernel.enumerate

import dovetail.kernel.graph.RelSet

/**
 * Receives the sets that an enumerator finds (MySQL's receiver pattern). So the same enumeration can fill a plan table,
 * count pairs, or be checked by a test.
 */
trait Receiver {

  /** Reports a single relation. All relations come before the first pair. */
  def relation(r: Int): Unit

  /**
   * Reports a csg-cmp pair: two disjoint connected sets with an edge between them. Each pair is reported once, in one
   * orientation, after all pairs within either side. Returns false to stop the enumeration.
   */
  def pair(left: RelSet, right: RelSet): Boolean

  /** Whether the set has been reported: as a relation, or as the union of a pair that may be joined. */
  def contains(set: RelSet): Boolean

  /** Whether the enumeration may continue. The enumerator asks from time to time if pairs are rare. */
  def timeLeft: Boolean = true
}
