package dovetail.kernel.profile

/**
 * One bucket of a histogram: values in [low, high], `ndv` distinct ones; its share of all values is in proportion to
 * its weight.
 */
final case class Bucket(low: Double, high: Double, ndv: Double, weight: Double = 1.0) {
  require(low <= high && !low.isInfinite && !high.isInfinite, s"bucket [$low, $high] is no range")
  require(
    ndv >= 0.0 && !ndv.isInfinite && weight > 0.0 && !weight.isInfinite,
    s"bucket [$low, $high] with $ndv values of weight $weight"
  )
}

/**
 * Equi-height histogram over the non-null values of a column: as collected, every bucket holds the same share of them
 * (Piatetsky-Shapiro and Connell 1984); what a range predicate leaves of it has lighter buckets at its ends. A value
 * that fills several buckets is a frequent one: it counts with all of them. Where a bucket begins with the last value
 * of the one before, as Spark's do, that value is counted in the one before.
 */
final case class Histogram(buckets: Vector[Bucket]) {
  require(
    buckets.nonEmpty && buckets.zip(buckets.tail).forall { case (a, b) => a.high <= b.low },
    "buckets ascend and do not overlap"
  )

  private val weight  = buckets.iterator.map(_.weight).sum
  private val ownsLow = buckets.indices.map(i => i == 0 || buckets(i - 1).high < buckets(i).low)

  def min: Double = buckets.head.low
  def max: Double = buckets.last.high

  /**
   * Share of the values in [low, high]; whether an end is included matters where a single value is told apart: at the
   * ends of buckets.
   */
  def between(low: Double, high: Double, lowIncluded: Boolean = true, highIncluded: Boolean = true): Double =
    math.min(
      1.0,
      buckets.indices.iterator.flatMap(part(_, low, high, lowIncluded, highIncluded)).map(_.weight).sum / weight
    )

  /**
   * Share of the values that equal `value`: whole buckets of that single value, and one of the distinct values of the
   * bucket that holds it.
   */
  def equalTo(value: Double): Double = between(value, value)

  /** Distinct values in [low, high]. */
  def ndvBetween(low: Double, high: Double, lowIncluded: Boolean = true, highIncluded: Boolean = true): Double =
    buckets.indices.iterator.flatMap(i =>
      part(i, low, high, lowIncluded, highIncluded).filter(p => p.low < p.high || first(i, p.low)).map(_.ndv)
    ).sum

  /** The histogram of what is left after a range predicate, or None where nothing is. */
  def restrictedTo(
      low: Double,
      high: Double,
      lowIncluded: Boolean = true,
      highIncluded: Boolean = true
  ): Option[Histogram] = {
    val kept = buckets.indices.flatMap(part(_, low, high, lowIncluded, highIncluded)).toVector
    if (kept.isEmpty) None else Some(Histogram(kept))
  }

  /** `value`, which bucket `i` holds, has not been counted with the bucket before. */
  private def first(i: Int, value: Double): Boolean = value > buckets(i).low || ownsLow(i)

  /**
   * What a range keeps of bucket `i`: a stretch in proportion to its width and at least one value, one of its values,
   * or nothing.
   */
  private def part(i: Int, low: Double, high: Double, lowIncluded: Boolean, highIncluded: Boolean): Option[Bucket] = {
    val b          = buckets(i)
    val (from, to) = (math.max(b.low, low), math.min(b.high, high))
    def included   = (from > low || lowIncluded) && (to < high || highIncluded)
    def share      = 1.0 / math.max(b.ndv, 1.0)
    if (from > to || (from == to && !included)) None
    else if (b.low == b.high) Some(b.copy(ndv = 1.0))
    else if (from == to) { if (first(i, from)) Some(Bucket(from, to, 1.0, b.weight * share)) else None }
    else {
      val kept = math.max(Interval.part(from, to, b.low, b.high), share)
      Some(Bucket(from, to, b.ndv * kept, b.weight * kept))
    }
  }
}
