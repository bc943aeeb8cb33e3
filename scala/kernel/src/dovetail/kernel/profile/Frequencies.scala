package dovetail.kernel.profile

/**
 * A frequent value of a column.
 *
 * @param key    key as in [[RelationSample]]: equal values have equal keys
 * @param number its place on the number line, if it has one
 * @param share  share of the column's non-NULL values
 */
final case class FrequentValue(key: Long, number: Option[Double], share: Double)

/**
 * The most frequent values of a column (end-biased histogram: Ioannidis and Christodoulakis, "Optimal histograms for
 * limiting worst-case error propagation", ACM TODS 18(4) 1993), part of [[ColumnProfile]]. The other values of the
 * column are assumed to be equally frequent.
 *
 * @param values   frequent values, most frequent first
 * @param complete whether the column has no other values
 */
final case class Frequencies(values: Vector[FrequentValue], complete: Boolean) {
  private lazy val byKey    = values.iterator.map(v => v.key -> v.share).toMap
  private lazy val byNumber = values.iterator.flatMap(v => v.number.map(_ -> v)).toMap

  /** Sum of the shares, at most one: the counts of a sketch may exceed the number of values. */
  val total: Double = math.min(1.0, values.iterator.map(_.share).sum)

  /** Whether all values are listed and have a place on the number line. The share of a range is then a sum. */
  val onLine: Boolean = complete && values.forall(_.number.isDefined)

  def at(key: Long): Option[Double]             = byKey.get(key)
  def at(number: Double): Option[FrequentValue] = byNumber.get(number)

  /** Share of a value that is not listed, in a column of `ndv` distinct values. */
  def other(ndv: Double): Double = if (complete) 0.0 else (1.0 - total) / math.max(ndv - values.size, 1.0)

  /**
   * The frequent values that a predicate on the column keeps, with their shares of all values that it keeps. None if it
   * keeps none of them.
   */
  def restricted(keep: FrequentValue => Boolean, keptShare: Double): Option[Frequencies] = {
    val kept = values.filter(keep)
    if (kept.isEmpty || keptShare <= 0.0) None
    else {
      val scale = 1.0 / math.max(keptShare, kept.iterator.map(_.share).sum)
      Some(Frequencies(kept.map(v => v.copy(share = v.share * scale)), complete))
    }
  }

  /** Compares these frequent values with those of another column. */
  def matching(that: Frequencies): Overlap = {
    val (mine, theirs) =
      (values.filter(v => that.byKey.contains(v.key)), that.values.filter(v => byKey.contains(v.key)))
    Overlap(
      pairs = mine.iterator.map(v => v.share * that.byKey(v.key)).sum,
      count = mine.size,
      left = Overlap.Side(
        values.size,
        math.max(0.0, total - mine.iterator.map(_.share).sum),
        if (complete) 0.0 else 1.0 - total
      ),
      right = Overlap.Side(
        that.values.size,
        math.max(0.0, that.total - theirs.iterator.map(_.share).sum),
        if (that.complete) 0.0 else 1.0 - that.total
      )
    )
  }
}

/**
 * Comparison of the frequent values of two columns.
 *
 * @param pairs share of the pairs of rows that are equal in a value which is frequent on both sides
 * @param count number of values that are frequent on both sides
 */
final case class Overlap(pairs: Double, count: Int, left: Overlap.Side, right: Overlap.Side) {

  /**
   * Share of the pairs of rows with equal values. Values that are frequent on both sides count one by one. Values that
   * are frequent on one side are compared with the average of the other side, and the rest counts by containment. Each
   * side gives an estimate, and the lower one is taken, just as the larger NDV is taken if no value is known to be
   * frequent (PostgreSQL's `eqjoinsel` does the same). Exact if both sides are complete.
   *
   * @param within share of the pairs of rows that lie in both columns' ranges
   */
  def share(leftNdv: Double, rightNdv: Double, within: Double = 1.0): Double =
    math.min(
      1.0,
      pairs + within * math.min(
        Overlap.beyond(left, right, rightNdv, count),
        Overlap.beyond(right, left, leftNdv, count)
      )
    )
}

object Overlap {

  /**
   * The values of one column in a comparison.
   *
   * @param values number of frequent values
   * @param lonely share of the frequent values that are not frequent on the other side
   * @param rest   share of all values that are not frequent
   */
  final case class Side(values: Int, lonely: Double, rest: Double)

  /** Share of the pairs beyond the common frequent values, if every value of `a` is among the `ndv` values of `b`. */
  private def beyond(a: Side, b: Side, ndv: Double, common: Int): Double =
    a.lonely * b.rest / math.max(ndv - b.values, 1.0) + a.rest * (b.lonely + b.rest) / math.max(ndv - common, 1.0)
}
