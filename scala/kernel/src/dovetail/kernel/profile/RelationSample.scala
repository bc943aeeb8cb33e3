package dovetail.kernel.profile

/**
 * The rows of a sample of a relation's table that the relation's own predicates keep, represented by their join keys.
 *
 * @param complete whether the sample is the whole table, so that counts on it are exact
 * @param drawn    sample rows of this relation, whether the predicates keep them or not
 * @param kept     those of them that the predicates keep
 * @param fraction share of the table's rows that were drawn, above 0 to 1
 * @param keys     keys of all sample rows, by index of the equivalence class; equal values have equal keys. The
 *                 equalities of the operators follow the classes, numbered on in the order of the graph.
 * @param ordered  classes whose keys are the values themselves, whole numbers on a line (integers, dates, timestamps)
 * @param keptOnly those of `keys` that are known only for kept rows
 * @param memo     cache for results on the keys
 * @param places   if the rows were read in a few places of the table: the first row of each place. Empty if each row
 *                 was drawn by itself.
 * @param current  whether the table is certainly the one that was sampled, with no rows added or changed since
 */
final case class RelationSample(
    complete: Boolean,
    drawn: RowNumbers,
    kept: RowNumbers,
    fraction: Double,
    keys: Map[Int, KeyColumn],
    ordered: Set[Int],
    keptOnly: Set[Int],
    memo: KeyMemo,
    places: Vector[Int] = Vector.empty,
    current: Boolean = true
) {
  require(fraction > 0.0 && fraction <= 1.0, s"a sample holds a share of its table, not $fraction")
  require(keys.values.map(_.codes.length).toSet.size <= 1, "columns of one sample have as many rows")

  /** Whether rows that lay together were read together. */
  def clustered: Boolean = places.nonEmpty

  /** Number of rows kept. */
  def rows: Int = kept.size

  // positions of the first and after the last kept row of each place that has any
  private lazy val filled: Vector[(Int, Int)] = {
    val starts = places.map(kept.between(0, _)) :+ rows
    starts.zip(starts.drop(1)).filter { case (from, to) => to > from }
  }

  /**
   * Mean value of the kept rows of each place that has any.
   *
   * @param values value of each kept row
   */
  def meansOfPlaces(values: Array[Double]): Vector[Double] = filled.map { case (from, to) =>
    var (sum, i) = (0.0, from)
    while (i < to) { sum += values(i); i += 1 }
    sum / (to - from)
  }
}

object RelationSample {

  /** Key of NULL, NaN and any other value that equals nothing. */
  val NullKey: Long = Long.MinValue

  /** A sample with one key per row, all of whose rows are kept. */
  def apply(
      complete: Boolean,
      rows: Int,
      fraction: Double,
      keys: Map[Int, Array[Long]],
      ordered: Set[Int]
  ): RelationSample = {
    require(keys.values.forall(_.length == rows), s"one key for each of $rows rows")
    val columns = keys.map { case (c, values) => c -> KeyColumn(values) }
    val all     = RowNumbers.all(rows)
    RelationSample(complete, all, all, fraction, columns, ordered, Set.empty, KeyMemo.none)
  }

  /** Adds a column to a composite key, which starts at 0. The result is [[NullKey]] if one of the two keys is. */
  def together(key: Long, next: Long): Long = if (key == NullKey || next == NullKey) NullKey else mixed(key * 31 + next)

  /**
   * Finalizer of SplitMix64 (Steele et al. 2014). It spreads sums of small numbers. Two equal ones of 2^64 keys are too
   * rare to matter.
   */
  private def mixed(key: Long): Long = {
    val a = (key ^ (key >>> 30)) * 0xbf58476d1ce4e5b9L
    val b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL
    b ^ (b >>> 31)
  }
}
