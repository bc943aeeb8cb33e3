package dovetail.kernel.estimate

import dovetail.kernel.estimate.Condition._

/**
 * All that the conjuncts of a filter say of one column: a range with open or closed ends, and a set of values it must be in. Conjuncts on one column are
 * intersected before anything is estimated, so `x >= 10 AND x < 20` is one range and not two independent predicates.
 */
final private[estimate] case class Interval(
    low: Double = Double.NegativeInfinity,
    lowIncluded: Boolean = true,
    high: Double = Double.PositiveInfinity,
    highIncluded: Boolean = true,
    points: Option[Vector[Double]] = None,
    equalities: Option[Int] = None, // number of constants, where they have no place on the number line
    openRanges: Int = 0             // range predicates with such constants
) {
  private def inside(v: Double): Boolean = (v > low || (v == low && lowIncluded)) && (v < high || (v == high && highIncluded))
  private def bounded: Boolean           = low != Double.NegativeInfinity || high != Double.PositiveInfinity
  private def empty: Boolean             = low > high || (low == high && !inside(low))

  def and(c: Condition): Interval = c match {
    case Compare(_, Less, Some(v))             => if (v <= high) copy(high = v, highIncluded = false) else this
    case Compare(_, LessOrEqual, Some(v))      => if (v < high) copy(high = v, highIncluded = true) else this
    case Compare(_, Greater, Some(v))          => if (v >= low) copy(low = v, lowIncluded = false) else this
    case Compare(_, GreaterOrEqual, Some(v))   => if (v > low) copy(low = v, lowIncluded = true) else this
    case Compare(_, _, None)                   => copy(openRanges = openRanges + 1)
    case Equals(_, Some(v))                    => copy(points = Some(points.fold(Vector(v))(_.filter(_ == v))))
    case Equals(_, None)                       => copy(equalities = Some(1))
    case In(_, vs, n) if vs.distinct.size == n => copy(points = Some(points.fold(vs.distinct.sorted)(_.filter(vs.toSet))))
    case In(_, _, n)                           => copy(equalities = Some(equalities.fold(n)(math.min(_, n))))
    case _                                     => this
  }

  /**
   * Share of the column's values (NULLs apart) that are in the interval.
   *
   * @param repetition how far the column repeats its values (`Assumptions.repetition`)
   */
  def share(c: ColumnProfile, repetition: Double): Double = {
    val byCount  = equalities.fold(1.0)(n => math.min(1.0, n * c.ndv.fold(Assumptions.Equality)(Assumptions.oneOf(_, repetition))))
    val byOpen   = if (openRanges == 0) 1.0 else if (openRanges == 1) Assumptions.Range else Assumptions.Between
    val byPoints = points.fold(1.0)(vs => math.min(1.0, possible(vs, c).map(equalTo(c, _, repetition)).sum))
    // the constants of one column are predicates on the same values: the strictest says it all, but for constants off the number line
    math.min(byCount, byOpen) * math.min(byPoints, range(c, repetition))
  }

  /** Those of the values that are in the interval and in the column's range. */
  private def possible(values: Vector[Double], c: ColumnProfile): Vector[Double] =
    values.filter(v => inside(v) && c.min.forall(_ <= v) && c.max.forall(_ >= v))

  private def equalTo(c: ColumnProfile, v: Double, repetition: Double): Double =
    c.histogram.map(_.equalTo(v)).orElse(c.ndv.map(Assumptions.oneOf(_, repetition))).getOrElse(Assumptions.Equality)

  private def range(c: ColumnProfile, repetition: Double): Double =
    if (!bounded) 1.0
    else if (empty) 0.0
    else if (low == high)
      // one value, which is never more than each of the two ends lets through
      (possible(Vector(low), c).map(equalTo(c, _, repetition)).sum :: copy(low =
        Double.NegativeInfinity
      ).range(c, repetition) :: copy(high = Double.PositiveInfinity).range(c, repetition) :: Nil).min
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
              else math.max(Assumptions.between(from, to, lo, hi, c.ndv, repetition), c.ndv.fold(0.0)(d => 1.0 / math.max(d, 1.0)))
            case _ => if (low != Double.NegativeInfinity && high != Double.PositiveInfinity) Assumptions.Between else Assumptions.Range
          }
      }

  /** The column after the predicate: its range, NDV and domain are those of the interval, and NULLs are gone. */
  def narrow(c: ColumnProfile): ColumnProfile = {
    val values = points.map(possible(_, c)).orElse(if (empty) Some(Vector.empty) else if (low == high) Some(possible(Vector(low), c)) else None)
    val most   = values.map(_.size).toSeq ++ equalities
    val kept   = (values match {
      case Some(Vector()) => c.copy(min = None, max = None, histogram = None)
      case Some(vs)       => c.copy(min = Some(vs.min), max = Some(vs.max), histogram = None)
      case None           => if (bounded) narrowToRange(c) else c
    }).copy(nulls = Some(0.0))
    val ndv    = (kept.ndv ++ most.map(_.toDouble)).reduceOption(_ min _)
    val domain = (for (d <- c.domain; before <- c.ndv; after <- ndv) yield if (before > 0.0) d * math.min(1.0, after / before) else d).orElse(ndv)
    kept.copy(ndv = ndv, domain = (domain ++ most.map(_.toDouble)).reduceOption(_ min _))
  }

  private def narrowToRange(c: ColumnProfile): ColumnProfile = {
    val lo = c.min.map(math.max(_, low)).orElse(Some(low)).filterNot(_.isInfinite)
    val hi = c.max.map(math.min(_, high)).orElse(Some(high)).filterNot(_.isInfinite)
    if ((for (a <- lo; b <- hi) yield a > b).getOrElse(false)) c.copy(ndv = Some(0.0), min = None, max = None, histogram = None)
    else {
      val fromHistogram = c.histogram.map(_.ndvBetween(low, high, lowIncluded, highIncluded))
      val fromRange     = c.ndv.map(d => if (c.min.isEmpty || c.max.isEmpty) d else math.max(1.0, d * range(c, repetition = 0.0)))
      val ndv           = (fromHistogram.orElse(fromRange) ++ c.ndv).reduceOption(_ min _)
      c.copy(ndv = ndv, min = lo, max = hi, histogram = c.histogram.flatMap(_.restrictedTo(low, high, lowIncluded, highIncluded)))
    }
  }
}

private[estimate] object Interval {

  /** Share of [low, high] that [from, to] takes; halved, so that the width of a range is always a finite number. */
  def part(from: Double, to: Double, low: Double, high: Double): Double = (to / 2 - from / 2) / (high / 2 - low / 2)

  /** Splits conjuncts into one interval per column, in order of first appearance, and the rest. */
  def collect(conjuncts: Vector[Condition]): (Vector[(Long, Interval)], Vector[Condition]) = {
    def columnOf(c: Condition): Option[Long] = c match {
      case Equals(id, _)     => Some(id)
      case In(id, _, _)      => Some(id)
      case Compare(id, _, _) => Some(id)
      case _                 => None
    }
    val (single, rest) = conjuncts.partition(columnOf(_).nonEmpty)
    val ids            = single.flatMap(columnOf(_)).distinct
    (ids.map(id => id -> single.filter(columnOf(_).contains(id)).map(onLine).foldLeft(Interval())(_ and _)), rest)
  }

  /** Infinities and NaN have no place on a line of finite ranges. */
  private def onLine(c: Condition): Condition = {
    def finite(v: Double) = !v.isNaN && !v.isInfinite
    c match {
      case Equals(id, v)      => Equals(id, v.filter(finite))
      case Compare(id, op, v) => Compare(id, op, v.filter(finite))
      case In(id, vs, n)      => In(id, vs.filter(finite), n)
      case other              => other
    }
  }
}
