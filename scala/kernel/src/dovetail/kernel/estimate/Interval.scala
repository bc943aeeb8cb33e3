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

  def and(c: Condition): Interval = c match {
    case Compare(_, Less, Some(v))           => if (v <= high) copy(high = v, highIncluded = false) else this
    case Compare(_, LessOrEqual, Some(v))    => if (v < high) copy(high = v, highIncluded = true) else this
    case Compare(_, Greater, Some(v))        => if (v >= low) copy(low = v, lowIncluded = false) else this
    case Compare(_, GreaterOrEqual, Some(v)) => if (v > low) copy(low = v, lowIncluded = true) else this
    case Compare(_, _, None)                 => copy(openRanges = openRanges + 1)
    case Equals(_, Some(v))                  => copy(points = Some(points.fold(Vector(v))(_.filter(_ == v))))
    case Equals(_, None)                     => copy(equalities = Some(1))
    case In(_, vs, n) if vs.size == n        => copy(points = Some(points.fold(vs.distinct.sorted)(_.filter(vs.toSet))))
    case In(_, _, n)                         => copy(equalities = Some(equalities.fold(n)(math.min(_, n))))
    case _                                   => this
  }

  /** Share of all rows (NULLs included) whose value is in the interval. */
  def selectivity(c: ColumnProfile): Double = c.nonNull * (points match {
    case Some(values) => math.min(1.0, values.filter(v => inside(v) && c.min.forall(_ <= v) && c.max.forall(_ >= v)).map(equalTo(c, _)).sum)
    case None         =>
      val byCount = equalities.fold(1.0)(n => math.min(1.0, n * c.ndv.fold(Assumptions.Equality)(1.0 / math.max(_, 1.0))))
      val byOpen  = if (openRanges == 0 || equalities.nonEmpty) 1.0 else if (openRanges == 1) Assumptions.Range else Assumptions.Between
      byCount * byOpen * (if (bounded) range(c) else 1.0)
  })

  private def equalTo(c: ColumnProfile, v: Double): Double =
    c.histogram.map(_.equalTo(v)).orElse(c.ndv.map(d => 1.0 / math.max(d, 1.0))).getOrElse(Assumptions.Equality)

  private def range(c: ColumnProfile): Double = c.histogram match {
    case Some(h) => h.between(low, high, lowIncluded, highIncluded)
    case None    =>
      (c.min, c.max) match {
        case (Some(lo), Some(hi)) =>
          val (from, to) = (math.max(lo, low), math.min(hi, high))
          if (from > to || (from == to && !(inside(from)))) 0.0
          else if (hi == lo) 1.0
          // a range that touches a single value still holds that value
          else math.max((to - from) / (hi - lo), c.ndv.fold(0.0)(d => 1.0 / math.max(d, 1.0)))
        case _ => if (low != Double.NegativeInfinity && high != Double.PositiveInfinity) Assumptions.Between else Assumptions.Range
      }
  }

  /** The column after the predicate: its range, NDV and domain are those of the interval, and NULLs are gone. */
  def narrow(c: ColumnProfile): ColumnProfile = {
    val n = narrowed(c)
    n.copy(domain = (for (d <- c.domain; before <- c.ndv; after <- n.ndv) yield if (before > 0.0) d * math.min(1.0, after / before) else d).orElse(n.ndv))
  }

  private def narrowed(c: ColumnProfile): ColumnProfile = {
    val kept = points.map(_.filter(v => inside(v) && c.min.forall(_ <= v) && c.max.forall(_ >= v)))
    kept match {
      case Some(vs) if vs.nonEmpty =>
        c.copy(
          ndv = Some(c.ndv.fold(vs.size.toDouble)(math.min(_, vs.size.toDouble))),
          nulls = Some(0.0),
          min = Some(vs.min),
          max = Some(vs.max),
          histogram = None
        )
      case Some(_) => c.copy(ndv = c.ndv.map(_ => 0.0), nulls = Some(0.0), histogram = None)
      case None    =>
        val counted = equalities.fold(c)(n => c.copy(ndv = Some(c.ndv.fold(n.toDouble)(math.min(_, n.toDouble)))))
        if (!bounded) counted.copy(nulls = Some(0.0))
        else {
          val lo    = c.min.map(math.max(_, low)).orElse(Some(low)).filterNot(_.isInfinite)
          val hi    = c.max.map(math.min(_, high)).orElse(Some(high)).filterNot(_.isInfinite)
          val empty = (for (a <- lo; b <- hi) yield a > b).getOrElse(false)
          if (empty) counted.copy(ndv = c.ndv.map(_ => 0.0), nulls = Some(0.0), min = None, max = None, histogram = None)
          else {
            val ndv = c.histogram.map(_.ndvBetween(low, high)).orElse(for (d <- counted.ndv)
              yield if (c.min.isEmpty || c.max.isEmpty) d else math.max(1.0, math.min(d, d * range(c))))
            counted.copy(
              ndv = ndv.map(d => math.min(d, counted.ndv.getOrElse(d))),
              nulls = Some(0.0),
              min = lo,
              max = hi,
              histogram = c.histogram.flatMap(_.restrictedTo(low, high))
            )
          }
        }
    }
  }
}

private[estimate] object Interval {

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
    (ids.map(id => id -> single.filter(columnOf(_).contains(id)).foldLeft(Interval())(_ and _)), rest)
  }
}
