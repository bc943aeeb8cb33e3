package dovetail.kernel.profile

/**
 * A value that is frequent in a column.
 *
 * @param key    as in [[RelationSample]]: equal values have equal keys
 * @param number its place on the number line, if it has one
 * @param share  of the column's values that are not NULL
 */
final case class FrequentValue(key: Long, number: Option[Double], share: Double)

/**
 * The most frequent values of a column (end-biased histogram: Ioannidis and Christodoulakis, "Optimal histograms for
 * limiting worst-case error propagation", ACM TODS 18(4) 1993), in [[ColumnProfile]]. The rest of its values are taken
 * to be equally frequent.
 *
 * @param values   most frequent first
 * @param complete there are no others
 */
final case class Frequencies(values: Vector[FrequentValue], complete: Boolean) {
  private lazy val byKey    = values.iterator.map(v => v.key -> v.share).toMap
  private lazy val byNumber = values.iterator.flatMap(v => v.number.map(_ -> v)).toMap

  /** Share of all the values here; what a sketch counts may come out above all there is. */
  val total: Double = math.min(1.0, values.iterator.map(_.share).sum)

  /** Every value is here, at its place on the number line: shares of ranges are sums. */
  val onLine: Boolean = complete && values.forall(_.number.isDefined)

  def at(key: Long): Option[Double]             = byKey.get(key)
  def at(number: Double): Option[FrequentValue] = byNumber.get(number)

  /** Share of a value that is not here, of which there are `ndv` less those that are. */
  def other(ndv: Double): Double = if (complete) 0.0 else (1.0 - total) / math.max(ndv - values.size, 1.0)

  /** What a predicate on the column leaves of them, as shares of what it leaves; None where that is nothing. */
  def restricted(keep: FrequentValue => Boolean, keptShare: Double): Option[Frequencies] = {
    val kept = values.filter(keep)
    if (kept.isEmpty || keptShare <= 0.0) None
    else {
      val scale = 1.0 / math.max(keptShare, kept.iterator.map(_.share).sum)
      Some(Frequencies(kept.map(v => v.copy(share = v.share * scale)), complete))
    }
  }

  /** How these meet those of another column. */
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
 * Two columns' frequent values against each other.
 *
 * @param pairs share of the pairs of rows that are of a value which is frequent on both sides
 * @param count such values
 */
final case class Overlap(pairs: Double, count: Int, left: Overlap.Side, right: Overlap.Side) {

  /**
   * Share of the pairs of rows with equal values: what is frequent on both sides value by value, what is frequent on
   * one side against the other's average, and the rest by containment. Each side gives an estimate, and the lower one
   * is taken, as with the larger NDV where nothing is known to be frequent (PostgreSQL's `eqjoinsel` reasons so too).
   * Exact where both sides are complete.
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
   * @param values  frequent values
   * @param lonely  share of those of them that are not frequent on the other side
   * @param rest    share of all others
   */
  final case class Side(values: Int, lonely: Double, rest: Double)

  /** Share of the pairs beyond the common frequent values, where every value of `a` is among the `ndv` of `b`. */
  private def beyond(a: Side, b: Side, ndv: Double, common: Int): Double =
    a.lonely * b.rest / math.max(ndv - b.values, 1.0) + a.rest * (b.lonely + b.rest) / math.max(ndv - common, 1.0)
}
