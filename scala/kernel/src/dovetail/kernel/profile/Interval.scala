package dovetail.kernel.profile

import scala.collection.mutable

import dovetail.kernel.profile.Condition._

/**
 * Everything that the conjuncts of a filter say about one column: a range with open or closed ends, and a set of values
 * that contains the column's value. Conjuncts on one column are intersected before anything is estimated, so `x >= 10
 * AND x < 20` is one range and not two independent predicates.
 */
final private[profile] case class Interval(
    low: Double = Double.NegativeInfinity,
    lowIncluded: Boolean = true,
    high: Double = Double.PositiveInfinity,
    highIncluded: Boolean = true,
    points: Option[Vector[Double]] = None,
    equalities: Option[Int] = None,    // number of constants that have no place on the number line
    keys: Option[Vector[Long]] = None, // keys of these constants, if they have any
    openRanges: Int = 0                // number of range predicates with such constants
) {
  private def inside(v: Double): Boolean =
    (v > low || (v == low && lowIncluded)) && (v < high || (v == high && highIncluded))
  private def bounded: Boolean = low != Double.NegativeInfinity || high != Double.PositiveInfinity
  private def empty: Boolean   = low > high || (low == high && !inside(low))

  /** Ends of the range and of the values on the number line; infinite if there is none. */
  def ends: (Double, Double) = points.filter(_.nonEmpty).fold((low, high)) { vs =>
    (math.max(low, vs.min), math.min(high, vs.max))
  }

  /** Whether the column is restricted to one or several values. */
  def pinned: Boolean = points.nonEmpty || equalities.nonEmpty

  def and(c: Condition): Interval = c match {
    case Compare(_, Less, Some(v))                => if (v <= high) copy(high = v, highIncluded = false) else this
    case Compare(_, LessOrEqual, Some(v))         => if (v < high) copy(high = v, highIncluded = true) else this
    case Compare(_, Greater, Some(v))             => if (v >= low) copy(low = v, lowIncluded = false) else this
    case Compare(_, GreaterOrEqual, Some(v))      => if (v > low) copy(low = v, lowIncluded = true) else this
    case Compare(_, _, None)                      => copy(openRanges = openRanges + 1)
    case Equals(_, Some(v), _)                    => copy(points = Some(points.fold(Vector(v))(_.filter(_ == v))))
    case Equals(_, None, key)                     => copy(equalities = Some(1), keys = narrowed(key.toVector))
    case In(_, vs, n, _) if vs.distinct.size == n =>
      copy(points = Some(points.fold(vs.distinct.sorted)(_.filter(vs.toSet))))
    case In(_, _, n, ks) => copy(equalities = Some(equalities.fold(n)(math.min(_, n))), keys = narrowed(ks))
    case _               => this
  }

  /** The keys that are in both lists. An empty list means that the keys of the constants are not known. */
  private def narrowed(more: Vector[Long]): Option[Vector[Long]] =
    if (more.isEmpty) keys else Some(keys.fold(more.distinct)(_.filter(more.toSet)))

  /**
   * Share of the column's non-NULL values that are in the interval. If rows were added that no statistic has seen, and
   * the interval reaches beyond the values known before, these rows count as a column of which only the NDV is known.
   */
  def share(c: ColumnProfile): Double =
    if (c.unseen > 0.0 && reachesBeyond(c)) (1.0 - c.unseen) * seenShare(c) + c.unseen * seenShare(Interval.blind(c))
    else seenShare(c)

  /** Whether the interval contains values that the column did not have when its statistics were collected. */
  private def reachesBeyond(c: ColumnProfile): Boolean = {
    def outside(v: Double) = c.min.exists(v < _) || c.max.exists(v > _) || c.frequent.exists(_.at(v).isEmpty)
    points.exists(_.exists(v => inside(v) && outside(v))) || keys.exists(_.exists(k =>
      c.frequent.exists(_.at(k).isEmpty)
    )) ||
    (points.isEmpty && bounded && !empty && (c.min.exists(low < _) || c.max.exists(high > _)))
  }

  private def seenShare(c: ColumnProfile): Double = {
    val byCount = equalities.fold(1.0)(n =>
      byKeys(c).getOrElse(c.ndv.fold(Assumptions.anyOf(n.toDouble))(d =>
        math.min(1.0, n * Assumptions.oneOf(d, c.repetition))
      ))
    )
    val byOpen   = if (openRanges == 0) 1.0 else if (openRanges == 1) Assumptions.Range else Assumptions.Between
    val byPoints = points.fold(1.0) { vs =>
      val values = possible(vs, c)
      if (c.ndv.isEmpty && c.histogram.isEmpty) Assumptions.anyOf(values.size.toDouble)
      else math.min(1.0, values.map(equalTo(c, _)).sum)
    }
    // predicates on one column restrict the same values, so the strictest one decides; constants without a place on the
    // number line count separately
    math.min(byCount, byOpen) * math.min(byPoints, range(c))
  }

  /** The values that are in the interval and in the column's range. */
  private def possible(values: Vector[Double], c: ColumnProfile): Vector[Double] =
    values.filter(v => inside(v) && c.min.forall(_ <= v) && c.max.forall(_ >= v))

  /** Share of all constants that have no place on the number line, by their frequencies. */
  private def byKeys(c: ColumnProfile): Option[Double] =
    for (ks <- keys; f <- c.frequent; d <- c.ndv) yield math.min(1.0, ks.map(k => f.at(k).getOrElse(f.other(d))).sum)

  private def equalTo(c: ColumnProfile, v: Double): Double =
    (for (f <- c.frequent; d <- c.ndv) yield f.at(v).fold(f.other(d))(_.share)).getOrElse(byDensity(c, v))

  private def byDensity(c: ColumnProfile, v: Double): Double =
    c.histogram.map(_.equalTo(v)).orElse(c.ndv.map(Assumptions.oneOf(_, c.repetition))).getOrElse(Assumptions.Equality)

  private def range(c: ColumnProfile): Double =
    if (!bounded) 1.0
    else if (empty) 0.0
    else if (low == high)
      // a single value, whose share never exceeds that of either end alone
      (possible(Vector(low), c).map(equalTo(c, _)).sum :: copy(low =
        Double.NegativeInfinity
      ).range(c) :: copy(high = Double.PositiveInfinity).range(c) :: Nil).min
    else if (c.frequent.exists(_.onLine))
      c.frequent.get.values.iterator.filter(_.number.exists(inside)).map(_.share).sum
    else
      c.histogram match {
        case Some(h) => h.between(low, high, lowIncluded, highIncluded)
        case None    =>
          (c.min, c.max) match {
            case (Some(lo), Some(hi)) =>
              val (from, to) = (math.max(lo, low), math.min(hi, high))
              if (from > to || (from == to && !inside(from))) 0.0
              else if (hi == lo) 1.0
              // a range that touches a single value still holds that value
              else math.max(
                Assumptions.between(from, to, lo, hi, c.ndv, c.repetition),
                c.ndv.fold(0.0)(d => 1.0 / math.max(d, 1.0))
              )
            case _ => if (low != Double.NegativeInfinity && high != Double.PositiveInfinity) Assumptions.Between
              else Assumptions.Range
          }
      }

  /** The column after the predicate. Its range, NDV and domain are those of the interval, and it has no NULLs. */
  def narrow(c: ColumnProfile): ColumnProfile =
    if (c.unseen > 0.0 && reachesBeyond(c)) narrowSeen(Interval.blind(c))
    else narrowSeen(c).copy(frequent = frequentAfter(c))

  /**
   * Frequent values after the predicate. Of several constants, only the frequent ones have a known share. So the
   * frequent values are dropped, unless all constants are frequent or the column has no other values.
   */
  private def frequentAfter(c: ColumnProfile): Option[Frequencies] = c.frequent.flatMap { f =>
    (points, keys) match {
      case (Some(vs), _) =>
        val set = vs.toSet
        f.restricted(_.number.exists(set), share(c)).filter(r => vs.forall(r.at(_).isDefined) || f.complete)
      case (_, Some(ks)) =>
        val set = ks.toSet
        f.restricted(v => set(v.key), share(c)).filter(r => ks.forall(r.at(_).isDefined) || f.complete)
      case _ if equalities.nonEmpty || openRanges > 0 => None
      case _ if bounded                               =>
        f.restricted(_.number.exists(inside), share(c)).filter(_ => f.values.forall(_.number.isDefined))
      case _ => Some(f)
    }
  }

  private def narrowSeen(c: ColumnProfile): ColumnProfile = {
    val values = points.map(possible(_, c)).orElse(if (empty) Some(Vector.empty)
    else if (low == high) Some(possible(Vector(low), c)) else None)
    val most = values.map(_.size).toSeq ++ equalities
    val kept = (values match {
      case Some(Vector()) => c.copy(min = None, max = None, histogram = None)
      case Some(vs)       => c.copy(min = Some(vs.min), max = Some(vs.max), histogram = None)
      case None           => if (bounded) narrowToRange(c) else c
    }).copy(nulls = Some(0.0))
    val ndv    = (kept.ndv ++ most.map(_.toDouble)).reduceOption(_ min _)
    val domain = (for (d <- c.domain; before <- c.ndv; after <- ndv)
      yield if (before > 0.0) d * math.min(1.0, after / before) else d).orElse(ndv)
    kept.copy(ndv = ndv, domain = (domain ++ most.map(_.toDouble)).reduceOption(_ min _))
  }

  private def narrowToRange(c: ColumnProfile): ColumnProfile = {
    val lo = c.min.map(math.max(_, low)).orElse(Some(low)).filterNot(_.isInfinite)
    val hi = c.max.map(math.min(_, high)).orElse(Some(high)).filterNot(_.isInfinite)
    if ((for (a <- lo; b <- hi) yield a > b).getOrElse(false))
      c.copy(ndv = Some(0.0), min = None, max = None, histogram = None)
    else {
      val fromHistogram = c.histogram.map(_.ndvBetween(low, high, lowIncluded, highIncluded))
      val fromRange     =
        c.ndv.map(d => if (c.min.isEmpty || c.max.isEmpty) d else math.max(1.0, d * range(c.copy(repetition = 0.0))))
      val ndv = (fromHistogram.orElse(fromRange) ++ c.ndv).reduceOption(_ min _)
      c.copy(
        ndv = ndv,
        min = lo,
        max = hi,
        histogram = c.histogram.flatMap(_.restrictedTo(low, high, lowIncluded, highIncluded))
      )
    }
  }
}

private[profile] object Interval {

  /** The same column without any knowledge but its number of values. */
  private def blind(c: ColumnProfile): ColumnProfile =
    c.copy(min = None, max = None, histogram = None, frequent = None, spread = None)

  /**
   * Share of [low, high] that [from, to] covers. All ends are halved, so that the width of a range is always finite.
   */
  def part(from: Double, to: Double, low: Double, high: Double): Double = (to / 2 - from / 2) / (high / 2 - low / 2)

  /** Splits conjuncts into one interval per column, in order of first appearance, and all other conjuncts. */
  def collect(conjuncts: Vector[Condition]): (Vector[(Long, Interval)], Vector[Condition]) = {
    def columnOf(c: Condition): Option[Long] = c match {
      case Equals(id, _, _)  => Some(id)
      case In(id, _, _, _)   => Some(id)
      case Compare(id, _, _) => Some(id)
      case _                 => None
    }
    val intervals = mutable.LinkedHashMap.empty[Long, Interval]
    val rest      = conjuncts.filter(c =>
      columnOf(c).fold(true) { id =>
        intervals(id) = intervals.getOrElse(id, Interval()).and(onLine(c))
        false
      }
    )
    (intervals.toVector, rest)
  }

  /** Drops infinities and NaN, which have no place on a line of finite ranges. */
  private def onLine(c: Condition): Condition = {
    def finite(v: Double) = !v.isNaN && !v.isInfinite
    c match {
      case Equals(id, v, k)   => Equals(id, v.filter(finite), k)
      case Compare(id, op, v) => Compare(id, op, v.filter(finite))
      case In(id, vs, n, ks)  => In(id, vs.filter(finite), n, ks)
      case other              => other
    }
  }
}
