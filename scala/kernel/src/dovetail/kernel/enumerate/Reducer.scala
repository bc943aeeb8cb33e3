package dovetail.kernel.enumerate

import dovetail.kernel.cost.FilterWork

/**
 * A Bloom filter on one relation, with the keys that other relations leave. It drops rows without a partner there
 * before they are exchanged, sorted or joined (semi-join reduction; predicate transfer if `by` is a join: Yang et al.,
 * "Predicate transfer", CIDR 2024).
 *
 * The join with `by` would drop the same rows, so a set that contains these relations has as many rows as without the
 * filter. A set that contains `reduced` and none of `by` has fewer.
 *
 * @param reduced relation whose rows are looked up
 * @param by      relations that the keys come from: first any one, then small relations, each of which is joined with
 *                one before it that is not only tested
 * @param tested  relations of `by` that a semi join tests, because they have no column of the key and connect nothing:
 *                however many partners a row has in them, it stays one row
 * @param keys    the columns of the key, each as the index of its equality (`JoinGraph.keys`) and the relation of `by`
 *                that it is read from
 * @param kept    share of the rows that pass, including false positives
 * @param items   number of keys that the filter has room for
 */
final case class Reducer(
    reduced: Int,
    by: Vector[Int],
    tested: Set[Int],
    keys: Vector[(Int, Int)],
    kept: Double,
    items: Long,
    work: FilterWork
) {

  /** Whether both filter the same relation, and a column of one key is a column of the other. */
  def overlaps(other: Reducer): Boolean = reduced == other.reduced && classes.exists(other.classes.contains)

  /** Equalities of the key's columns. */
  def classes: Vector[Int] = keys.map(_._1)

  /** Size of the filter in bits, for its number of items. */
  def bits: Long = items * Reducer.BitsPerItem
}

object Reducer {

  /**
   * Bits of a filter per key that it has room for. Spark then uses six hash functions: 8 ln 2, rounded (Bloom 1970).
   */
  val BitsPerItem = 8L

  /** Maximum number of reducers of one group: each is a job that the query waits for. */
  val MostOfGroup = 4

  /**
   * Share of rows without a partner that pass when all the room is taken. By Bloom's formula for k hash functions and b
   * bits per key, (1 - e^(-k/b))^k, it is 0.0216. It is rounded up, because the formula takes the hash functions to be
   * independent, and Spark derives all of them from two.
   */
  val FalsePositives = 0.025
}

/**
 * What a caller allows for reducers.
 *
 * @param reducible pairs of relation and equality (`JoinGraph.keys`): a filter by the relation's member of it is
 *                  allowed on the relation
 * @param readable  such pairs: the relation can be read a second time for its member of the equality
 * @param small     relations that can be read a second time and that the engine broadcasts by itself
 * @param tasks     number of tasks that read a readable relation; only asked for candidates, because it may take a look
 *                  at all files. Each task makes a filter of its own, and one task merges them.
 * @param most      maximum number of keys that a filter may have room for
 * @param forced    whether every allowed reducer is used, whatever it costs (for tests)
 * @param parts     parts of a readable relation's files that one task reads whole; infinite if they are not known
 */
final case class ReducerRules(
    reducible: Set[(Int, Int)],
    readable: Set[(Int, Int)],
    small: Set[Int],
    tasks: Int => Double,
    most: Long,
    forced: Boolean = false,
    parts: Int => Double = _ => Double.PositiveInfinity
)

object ReducerRules {
  val none: ReducerRules = ReducerRules(Set.empty, Set.empty, Set.empty, _ => 1.0, 0L)
}
