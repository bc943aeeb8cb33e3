package dovetail.kernel.enumerate

import dovetail.kernel.cost.FilterWork

/**
 * A Bloom filter on one relation, by the keys that other relations leave of an equivalence class: rows without a partner
 * there are dropped before they are exchanged, sorted or joined (semi-join reduction; predicate transfer where `by` is a
 * join: Yang et al., "Predicate transfer", CIDR 2024).
 *
 * Rows that it drops would be dropped by the join with `by`, so sets that hold these relations have the rows that they
 * have without it. Sets that hold `reduced` and none of `by` have fewer.
 *
 * @param reduced     the relation whose rows are looked up
 * @param by          the relations that the keys come from: first the one that has the keys, then small ones that
 *                    restrict it. Ascending but for the first.
 * @param equivalence class of the keys
 * @param kept        share of the rows that it lets through, false positives included
 * @param items       keys that the filter has room for
 */
final case class Reducer(
    reduced: Int,
    by: Vector[Int],
    equivalence: Int,
    kept: Double,
    items: Long,
    work: FilterWork
) {

  /** Of the filter, as it is sized for its items. */
  def bits: Long = items * Reducer.BitsPerItem
}

object Reducer {

  /**
   * Bits of a filter per key it has room for: with six hash functions one row in fifty passes without a partner (Bloom
   * 1970).
   */
  val BitsPerItem = 8L

  /** Share of rows without a partner that pass, once all the room is taken. */
  val FalsePositives = 0.025
}

/**
 * What a caller allows of reducers.
 *
 * @param reducible relation and class: a filter by the relation's member of the class may stand on the relation
 * @param readable  relation and class: the relation can be read a second time for its member of the class
 * @param small     relations that can be read a second time and that the engine broadcasts by itself
 * @param most      keys that a filter may have room for
 * @param forced    every reducer that is allowed is used, whatever it costs: for tests
 */
final case class ReducerRules(
    reducible: Set[(Int, Int)],
    readable: Set[(Int, Int)],
    small: Set[Int],
    most: Long,
    forced: Boolean = false
)

object ReducerRules {
  val none: ReducerRules = ReducerRules(Set.empty, Set.empty, Set.empty, 0L)
}
