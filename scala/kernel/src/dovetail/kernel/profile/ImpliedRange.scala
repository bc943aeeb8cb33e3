package dovetail.kernel.profile

/**
 * Range of a column's values in the rows that predicates on other columns leave. Rows that are written together have
 * neighboring keys and dates: the orders of one month have numbers that lie side by side. The predicate on the date is
 * then a predicate on the number, too. Without it, two tables cut to the same month and joined by the number of the
 * order seem to lose most rows of both.
 *
 * The range comes from rows that were read ([[ImpliedRange.ofRows]]), or from the row groups that the predicates leave.
 *
 * @param low   smallest value
 * @param high  largest value
 * @param share share of all values of the column that lie between them, above 0
 */
final case class ImpliedRange(low: Double, high: Double, share: Double) {

  /**
   * The column in this range. It keeps its number of rows, because the predicates on the other columns have been
   * counted. A column that is not known to be as the statistics say stays as it is.
   *
   * @param tableRows rows of the relation before its predicates
   */
  def narrow(c: ColumnProfile, tableRows: Double): ColumnProfile = {
    val (lo, hi) = (c.min.fold(low)(math.max(_, low)), c.max.fold(high)(math.min(_, high)))
    if (c.unseen > 0.0 || lo > hi || (c.min.contains(lo) && c.max.contains(hi))) c
    else {
      // the range of the column may be narrow already
      val of                = c.rangeRows.getOrElse(tableRows)
      val part              = if (of > 0.0) math.min(1.0, share * tableRows / of) else 1.0
      val domain            = c.domain.map(d => if (lo == hi) 1.0 else math.max(1.0, d * part))
      def inside(v: Double) = v >= lo && v <= hi
      c.copy(
        ndv = c.ndv.map(n => domain.fold(n)(math.min(n, _))),
        domain = domain,
        min = Some(lo),
        max = Some(hi),
        histogram = c.histogram.flatMap(_.restrictedTo(lo, hi)),
        frequent = c.frequent.filter(_.values.forall(_.number.isDefined)).flatMap(
          _.restricted(_.number.exists(inside), part)
        ),
        rangeRows = Some(part * of)
      )
    }
  }
}

object ImpliedRange {

  /** The relation after predicates on other columns left only these ranges. Its number of rows stays. */
  def applied(relation: RelationProfile, ranges: Map[Long, ImpliedRange]): RelationProfile =
    relation.copy(columns = relation.columns.map { case (id, c) =>
      id -> ranges.get(id).fold(c)(_.narrow(c, relation.baseRows))
    })

  /**
   * The range of a column in the rows of a sample that predicates keep. Rows that were not drawn may lie outside by
   * about the distance of two rows. A range that is not much narrower than that of all rows is none: rows that were
   * kept by chance leave a little at the ends, too.
   *
   * @param some     values of some rows of the sample, in any order
   * @param all      values of all rows of the sample; for a range in which few of `some` lie
   * @param kept     values of the rows that the predicates keep, in any order
   * @param complete whether these are all rows of the table
   */
  def ofRows(
      some: => Array[Double],
      all: => Array[Double],
      kept: Array[Double],
      complete: Boolean
  ): Option[ImpliedRange] =
    if (kept.isEmpty || (!complete && kept.length < LeastRows)) None
    else {
      val (first, last) = ends(kept)
      val gap           = if (complete) 0.0 else (last - first) / (kept.length - 1)
      val (low, high)   = (first - gap, last + gap)
      val few           = some
      val looked        = if (inside(few, low, high) >= FewInside) few else all
      narrow(ImpliedRange(low, high, inside(looked, low, high).toDouble / looked.length))
    }

  // loops of their own: `min`, `max` and `count` make an object of each value

  private def ends(of: Array[Double]): (Double, Double) = {
    var (low, high) = (of(0), of(0))
    var i           = 1
    while (i < of.length) { low = math.min(low, of(i)); high = math.max(high, of(i)); i += 1 }
    (low, high)
  }

  private def inside(of: Array[Double], low: Double, high: Double): Int = {
    var n = 0
    var i = 0
    while (i < of.length) { if (of(i) >= low && of(i) <= high) n += 1; i += 1 }
    n
  }

  /**
   * The range of a column in the row groups that predicates on other columns leave.
   *
   * @param all  smallest and largest value of each row group, and its number of values
   * @param left row groups that may have rows for which the predicates are true
   */
  def ofGroups(all: Vector[Group], left: Int => Boolean): Option[ImpliedRange] = {
    val kept = all.indices.filter(left)
    if (kept.isEmpty) None
    else {
      val (low, high) = (kept.iterator.map(all(_).low).min, kept.iterator.map(all(_).high).max)
      val inside      = all.iterator.map(g => g.values * g.partIn(low, high)).sum
      narrow(ImpliedRange(low, high, inside / all.iterator.map(_.values).sum))
    }
  }

  /** A row group with the ends of a column and its number of values, above 0. */
  final case class Group(low: Double, high: Double, values: Double) {

    /** Share of the values in a range, if they are spread evenly. */
    private[ImpliedRange] def partIn(from: Double, to: Double): Double = {
      val (l, h) = (math.max(low, from), math.min(high, to))
      if (l > h) 0.0 else if (low == high) 1.0 else Interval.part(l, h, low, high)
    }
  }

  private def narrow(r: ImpliedRange): Option[ImpliedRange] = Some(r).filter(r => r.share > 0.0 && r.share <= MostShare)

  /** Values in a range that tell its share within a quarter. */
  private val FewInside = 16

  /** Fewer rows that are kept by chance may all lie in one half of the range. */
  private val LeastRows = 10

  /** Share of the values up to which a range counts: ten rows kept by chance lie within it once in a hundred times. */
  val MostShare = 0.5
}
