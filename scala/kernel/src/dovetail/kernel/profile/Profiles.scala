package dovetail.kernel.profile

/**
 * What is known of one column, over the rows of the relation it belongs to. Values are numbers (dates as days,
 * timestamps as microseconds, booleans as 0 and 1); a column whose values have no place on that line (strings,
 * binaries) has no range. `None` is unknown, not zero.
 *
 * @param ndv      distinct non-null values
 * @param domain   distinct values before predicates on other columns. A random filter on a relation thins out its keys,
 *                 but not the chance that a pair of rows has equal ones: joins are estimated by domains, grouping and
 *                 semi joins by NDVs.
 * @param nulls    share of NULLs, 0 to 1
 * @param width    bytes of a value in memory, with bounds
 * @param origin   the table's column that the values come from, if they are one's: two relations with the same one are
 *                 the same table twice
 * @param frequent its most frequent values, where they are known
 * @param degree   rows of any one value at most, where that is certain: a bound, which filters leave as it is, and
 *                 joins do not
 * @param repetition how far it repeats its values, 0 for a key to 1, where nobody knows how evenly
 *                 ([[Assumptions.oneOf]]); 0 also where a statistic stands for all that is to be known, and values are
 *                 taken as equally frequent
 * @param uncounted the domain is what the column's range and rows can hold at most: nobody has counted it
 * @param unseen   share of the rows that came after this was collected, whose values may be outside of all that is
 *                 known
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
    uncounted: Boolean = false
) {
  require(ndv.forall(_ >= 0.0), s"negative ndv $ndv")
  require(nulls.forall(n => n >= 0.0 && n <= 1.0), s"share of nulls outside 0..1: $nulls")
  require((for (a <- min; b <- max) yield a <= b).getOrElse(true), s"min $min above max $max")
  require(unseen >= 0.0 && unseen <= 1.0, s"share of rows not seen outside 0..1: $unseen")
  require(repetition >= 0.0 && repetition <= 1.0, s"repetition outside 0..1: $repetition")

  /** Its known domain is as large as a relation of so many rows: it looks like a key. */
  def isLikeKey(rows: Double): Boolean = domain.exists(_ >= Assumptions.UniqueNdvShare * rows)

  /** Of rows that may come more often than they did: what bounds them is gone. */
  def multiplied: ColumnProfile = copy(degree = None, width = width.multiplied)

  /** Of other values, made from these: what knows single values is gone. */
  def recoded: ColumnProfile = copy(frequent = None, degree = None)

  def nonNull: Double = 1.0 - nulls.getOrElse(Assumptions.NullFraction)
}

object ColumnProfile {

  /** Builds a profile from numbers that nobody has checked: what contradicts itself is dropped, and named. */
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

  /** Checks a number by what passed before, keeps it or drops it, and names what it drops. */
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
      // more distinct values than rows is a sketch's error or a stale count: the rows win
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
 * What is known of the output of a plan: its rows and its columns, by a caller's own column ids.
 *
 * @param baseRows rows before this relation's own predicates: the domain that key columns of unknown NDV are drawn from
 * @param uniqueKeys sets of columns that are certainly unique (grouping columns of an aggregate), not merely so by
 *                   count
 * @param groups   distinct values of several columns together, before predicates, where somebody counted them
 */
final case class RelationProfile(
    rows: Estimate,
    columns: Map[Long, ColumnProfile],
    baseRows: Double,
    uniqueKeys: Set[Set[Long]] = Set.empty,
    groups: Map[Set[Long], Double] = Map.empty
) {
  def column(id: Long): ColumnProfile         = columns.getOrElse(id, ColumnProfile())
  def rowBytes(ids: Iterable[Long]): RowBytes = RowBytes(ids.iterator.map(id => column(id).width).toVector)

  /** Bytes of all rows with these columns in memory, as estimated. */
  def bytes(ids: Iterable[Long]): Double = rows.value * (Assumptions.RowOverhead + rowBytes(ids).mean)

  /**
   * With as many rows as somebody says there are: a column with nearly as many values as rows has more or fewer with
   * them, others keep theirs.
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
          degree = c.degree.filter(_ => factor == 1.0)
        )
      },
      baseRows = n,
      groups = groups.map { case (ids, d) => ids -> distinct(d) }
    )
  }

  /** All rows but a random share gone: rows, NDVs scaled, nothing else known to change. */
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
