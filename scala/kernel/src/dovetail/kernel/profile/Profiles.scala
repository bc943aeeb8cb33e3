package dovetail.kernel.profile

/**
 * Statistics of one column over the rows of its relation. Values are numbers (dates as days, timestamps as
 * microseconds, booleans as 0 and 1). A column whose values have no place on the number line (strings, binaries) has no
 * range. `None` is unknown, not zero.
 *
 * @param ndv        distinct non-null values
 * @param domain     distinct values before predicates on other columns. A random filter on a relation removes keys, but
 *                   it does not change the chance that a pair of rows has equal keys. So joins are estimated by
 *                   domains, grouping and semi joins by NDVs.
 * @param nulls      share of NULLs, 0 to 1
 * @param width      bytes of a value in memory, with bounds
 * @param origin     table column that the values come from, if there is a single one. Two relations with the same
 *                   origin are the same table twice.
 * @param frequent   most frequent values, if known
 * @param degree     upper bound of the rows with the same value, if it is certain. Filters leave it as it is, joins do
 *                   not.
 * @param repetition degree to which the column repeats its values, from 0 for a key to 1, if their frequencies are
 *                   unknown ([[Assumptions.oneOf]]). It is also 0 if a statistic of the column counts as complete;
 *                   values are then taken as equally frequent.
 * @param spread     where the values lie, from rows that were read. It is for joins: predicates are tried on these
 *                   rows, and the buckets do not count distinct values.
 * @param uncounted  whether nobody has counted the domain, so that it is the maximum that the column's range and rows
 *                   allow
 * @param unseen     share of the rows that were added after the statistics were collected; their values may be outside
 *                   all that is known
 * @param rangeRows  rows of the table whose value lies in the column's range, if predicates have narrowed the range:
 *                   on the column itself, or on another one that it follows ([[ImpliedRange]])
 * @param input      input of the plan whose rows the values come from. Columns of one input have at most as many
 *                   combinations of values as it has rows, however often joins repeat these rows.
 */
final case class ColumnProfile(
    ndv: Option[Double] = None,
    domain: Option[Double] = None,
    nulls: Option[Double] = None,
    min: Option[Double] = None,
    max: Option[Double] = None,
    histogram: Option[Histogram] = None,
    width: Width = Width.unknown(Assumptions.StringBytes),
    origin: Option[String] = None,
    frequent: Option[Frequencies] = None,
    degree: Option[Double] = None,
    unseen: Double = 0.0,
    repetition: Double = 0.0,
    uncounted: Boolean = false,
    spread: Option[Histogram] = None,
    rangeRows: Option[Double] = None,
    input: Option[InputRows] = None
) {
  require(ndv.forall(_ >= 0.0), s"negative ndv $ndv")
  require(nulls.forall(n => n >= 0.0 && n <= 1.0), s"share of nulls outside 0..1: $nulls")
  require((for (a <- min; b <- max) yield a <= b).getOrElse(true), s"min $min above max $max")
  require(unseen >= 0.0 && unseen <= 1.0, s"share of rows not seen outside 0..1: $unseen")
  require(repetition >= 0.0 && repetition <= 1.0, s"repetition outside 0..1: $repetition")

  /**
   * Whether the known domain is nearly as large as a relation of `rows` rows, or as its part in the column's range, so
   * that the column looks like a key.
   */
  def isLikeKey(rows: Double): Boolean =
    domain.exists(d => d > 0.0 && d >= Assumptions.UniqueNdvShare * rangeRows.fold(rows)(math.min(_, rows)))

  /** The column after an operation that may repeat rows: bounds that no longer hold are dropped. */
  def multiplied: ColumnProfile = copy(degree = None, width = width.multiplied, rangeRows = None)

  /** The column after its values were mapped to other values: facts about single values are dropped. */
  def recoded: ColumnProfile = copy(frequent = None, degree = None)

  /** The best that is known of where the values lie in their range. */
  def distribution: Option[Histogram] = histogram.orElse(spread)

  /** Share of the table's rows that lie in the column's range: above 0, and 1 if predicates have not narrowed it. */
  def rangeShare(tableRows: Double): Double =
    rangeRows.fold(1.0)(r => math.max(math.min(1.0, r / tableRows), Double.MinPositiveValue))

  /** The column of a relation that has at least these rows: all of them lie in its range. */
  def ofAtLeast(rows: Double): ColumnProfile =
    if (rangeRows.isEmpty) this else copy(rangeRows = rangeRows.map(math.max(_, rows)))

  /** The column of a relation that has at most these rows. */
  def ofAtMost(rows: Double): ColumnProfile =
    if (input.forall(_.rows <= rows)) this else copy(input = input.map(_.copy(rows = rows)))

  def nonNull: Double = 1.0 - nulls.getOrElse(Assumptions.NullFraction)
}

/**
 * The rows of one input of a plan: of a table, say.
 *
 * @param id   number of the input, the same for all of its columns
 * @param rows rows that are left of it, at most
 */
final case class InputRows(id: Long, rows: Double)

object ColumnProfile {

  /**
   * Builds a profile from numbers that nobody has checked. Contradictory numbers are dropped, and named in the result.
   */
  def checked(
      ndv: Option[Double],
      nulls: Option[Double],
      rows: Option[Double],
      min: Option[Double],
      max: Option[Double],
      histogram: => Option[Histogram],
      width: Option[Width]
  ): (ColumnProfile, Seq[String]) = {
    val checks    = new Checks
    val rowsKept  = checks.rows(rows)
    val nullsKept = checks.nulls(nulls, rowsKept)
    val distinct  = checks.distinct(ndv, nullsKept, rowsKept)
    val (lo, hi)  = checks.range(min, max)
    val profile   = ColumnProfile(
      ndv = distinct,
      domain = distinct,
      nulls = for (n <- nullsKept; r <- rowsKept if r > 0.0) yield n / r,
      min = lo,
      max = hi,
      histogram = checks.histogram(histogram),
      width = checks.width(width)
    )
    (profile, checks.faults)
  }

  /** Checks each number against those that passed before, keeps or drops it, and names what it drops. */
  final private class Checks {
    private var found = Vector.empty[String]

    def faults: Seq[String] = found

    def rows(rows: Option[Double]): Option[Double] = keep("row count", rows)(r => finite(r) && r >= 0.0)

    def nulls(nulls: Option[Double], rows: Option[Double]): Option[Double] =
      keep("null count", nulls)(n => finite(n) && n >= 0.0 && rows.forall(n <= _))

    def distinct(ndv: Option[Double], nulls: Option[Double], rows: Option[Double]): Option[Double] = {
      val allNull = nulls.exists(n => rows.exists(r => r > 0.0 && n >= r))
      val kept    =
        keep("distinct count", ndv)(d => finite(d) && (d > 0.0 || (d == 0.0 && (allNull || rows.contains(0.0)))))
      // more distinct values than rows are the error of a sketch or an outdated count: the rows win
      kept.map(d => rows.fold(d)(r => math.min(d, math.max(r, 1.0))))
    }

    def range(min: Option[Double], max: Option[Double]): (Option[Double], Option[Double]) =
      (min.filter(finite), max.filter(finite)) match {
        case (Some(lo), Some(hi)) if !(lo <= hi) => found :+= s"min $lo above max $hi"; (None, None)
        case ends                                => ends
      }

    def histogram(histogram: => Option[Histogram]): Option[Histogram] =
      try histogram
      catch { case e: IllegalArgumentException => found :+= s"histogram: ${e.getMessage}"; None }

    def width(width: Option[Width]): Width = {
      width.filterNot(_.sensible).foreach(w => found :+= s"width ${w.mean}")
      width.filter(_.sensible).getOrElse(Width.unknown(Assumptions.StringBytes))
    }

    private def keep(what: String, value: Option[Double])(ok: Double => Boolean): Option[Double] = {
      value.filterNot(ok).foreach(v => found :+= s"$what $v")
      value.filter(ok)
    }

    private def finite(d: Double): Boolean = !d.isNaN && !d.isInfinite
  }
}

/**
 * Statistics of the output of a plan: its rows, and its columns by the caller's column ids.
 *
 * @param baseRows   rows before this relation's own predicates: the domain from which key columns of unknown NDV draw
 * @param uniqueKeys sets of columns that are certainly unique (grouping columns of an aggregate), not only by their
 *                   counts
 * @param groups     joint NDVs of several columns before predicates, as far as somebody counted them
 */
final case class RelationProfile(
    rows: Estimate,
    columns: Map[Long, ColumnProfile],
    baseRows: Double,
    uniqueKeys: Set[Set[Long]] = Set.empty,
    groups: Map[Set[Long], Double] = Map.empty
) {
  def column(id: Long): ColumnProfile = columns.getOrElse(id, ColumnProfile())

  /** Whether predicates drop rows of the relation: more than what an estimate can tell from none. */
  def restricted: Boolean = rows.value < baseRows * RelationProfile.AlmostAll

  def rowBytes(ids: Iterable[Long]): RowBytes = RowBytes(ids.iterator.map(id => column(id).width).toVector)

  /** Estimated bytes of all rows with these columns in memory. */
  def bytes(ids: Iterable[Long]): Double = rows.value * (Assumptions.RowOverhead + rowBytes(ids).mean)

  /**
   * The profile for a given number of rows. The NDV of a column that has nearly as many values as rows grows or shrinks
   * with the rows. Other NDVs stay.
   */
  def ofRows(n: Double): RelationProfile = {
    val factor              = n / math.max(rows.value, 1.0)
    def distinct(d: Double) =
      math.min(if (d >= Assumptions.UniqueNdvShare * rows.value) d * factor else d, math.max(n, 1.0))
    copy(
      rows = Estimate.exactly(n, Source.Given),
      columns = columns.map { case (id, c) =>
        id -> c.copy(
          ndv = c.ndv.map(distinct),
          domain = c.domain.map(distinct),
          degree = c.degree.filter(_ => factor == 1.0),
          // then its inputs may have more rows than estimated, too
          input = c.input.map(i => i.copy(rows = i.rows * math.max(1.0, factor)))
        )
      },
      baseRows = n,
      groups = groups.map { case (ids, d) => ids -> distinct(d) }
    )
  }

  /** The profile after only a random share of the rows is kept. Rows and NDVs shrink, everything else stays. */
  def scaled(selectivity: Double): RelationProfile = {
    val kept = rows.scaled(selectivity)
    copy(
      rows = kept,
      columns = columns.map { case (id, c) =>
        id -> c.copy(ndv = c.ndv.map(Assumptions.distinctAfter(_, rows.value, kept.value)))
      }
    )
  }
}

object RelationProfile {

  /** Predicates that keep at least this share of the rows do not count as predicates. */
  private val AlmostAll = 0.999
}
