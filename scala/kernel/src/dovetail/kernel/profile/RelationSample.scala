package dovetail.kernel.profile

/**
 * The rows of a uniform sample of a relation's table that the relation's own predicates keep, as the keys they are
 * joined by.
 *
 * @param complete the sample is the whole table: counts are counts and not estimates
 * @param kept     those of the sample's rows that are kept
 * @param fraction share of the table's rows that were drawn, above 0 to 1
 * @param keys     by index of the equivalence class the keys of all rows of the sample: equal values have equal keys.
 *                 Behind the classes come the equalities of the operators, numbered on in the order of the graph
 * @param ordered  classes whose keys are the values themselves, whole numbers on a line (integers, dates, timestamps)
 * @param memo     where results on the keys are kept
 */
final case class RelationSample(
    complete: Boolean,
    kept: RowNumbers,
    fraction: Double,
    keys: Map[Int, KeyColumn],
    ordered: Set[Int],
    memo: KeyMemo
) {
  require(fraction > 0.0 && fraction <= 1.0, s"a sample holds a share of its table, not $fraction")
  require(keys.values.map(_.codes.length).toSet.size <= 1, "columns of one sample have as many rows")

  /** Rows kept. */
  def rows: Int = kept.size
}

object RelationSample {

  /** NULL, or NaN or whatever else equals nothing. */
  val NullKey: Long = Long.MinValue

  /** With one key per row, all of which are kept. */
  def apply(
      complete: Boolean,
      rows: Int,
      fraction: Double,
      keys: Map[Int, Array[Long]],
      ordered: Set[Int]
  ): RelationSample = {
    require(keys.values.forall(_.length == rows), s"one key for each of $rows rows")
    val columns = keys.map { case (c, values) => c -> KeyColumn(values) }
    RelationSample(complete, RowNumbers.all(rows), fraction, columns, ordered, KeyMemo.none)
  }

  /** The key of several columns, one after the other from 0; [[NullKey]] where one of them is. */
  def together(key: Long, next: Long): Long = if (key == NullKey || next == NullKey) NullKey else mixed(key * 31 + next)

  /**
   * Finalizer of SplitMix64 (Steele et al. 2014): spreads sums of small numbers; two keys of 2^64 collide too seldom to
   * matter.
   */
  private def mixed(key: Long): Long = {
    val a = (key ^ (key >>> 30)) * 0xbf58476d1ce4e5b9L
    val b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL
    b ^ (b >>> 31)
  }
}
