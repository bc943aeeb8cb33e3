package dovetail.kernel.estimate

/** One bucket of an equi-height histogram: values in [low, high], `ndv` distinct ones. */
final case class Bucket(low: Double, high: Double, ndv: Double) {
  require(low <= high && ndv >= 0.0, s"bucket [$low, $high] with $ndv values")
}

/**
 * Equi-height histogram over the non-null values of a column: every bucket holds the same share of them (Piatetsky-Shapiro and Connell 1984).
 * A value that fills several buckets is a frequent one: it counts with all of them.
 */
final case class Histogram(buckets: Vector[Bucket]) {
  require(buckets.nonEmpty && buckets.zip(buckets.tail).forall { case (a, b) => a.high <= b.low }, "buckets ascend and do not overlap")
  private val share = 1.0 / buckets.size

  def min: Double = buckets.head.low
  def max: Double = buckets.last.high

  /** Share of the values in [low, high]; ends that are excluded matter only for values that fill a bucket. */
  def between(low: Double, high: Double, lowIncluded: Boolean = true, highIncluded: Boolean = true): Double =
    if (low > high) 0.0
    else
      buckets.map { b =>
        if (b.high < low || b.low > high) 0.0
        else if (b.low == b.high) { if ((b.low == low && !lowIncluded) || (b.low == high && !highIncluded)) 0.0 else share }
        else
          share * math.max(math.min(b.high, high) - math.max(b.low, low), if (low == high) (b.high - b.low) / math.max(b.ndv, 1.0) else 0.0) / (b.high - b.low)
      }.sum.min(1.0)

  /** Share of the values that equal `value`: whole buckets of that single value, or one of the bucket's distinct values. */
  def equalTo(value: Double): Double = {
    val hits = buckets.filter(b => b.low <= value && value <= b.high)
    if (hits.isEmpty) 0.0
    else {
      val full = hits.filter(b => b.low == b.high)
      if (full.nonEmpty) full.size * share else hits.map(b => share / math.max(b.ndv, 1.0)).max
    }
  }

  /** Distinct values in [low, high]. */
  def ndvBetween(low: Double, high: Double): Double =
    buckets.filter(b => b.high >= low && b.low <= high).map { b =>
      if (b.low == b.high) 1.0 else b.ndv * math.min(1.0, (math.min(b.high, high) - math.max(b.low, low)) / (b.high - b.low))
    }.sum

  /** The histogram of what is left after a range predicate, or None where nothing is. */
  def restrictedTo(low: Double, high: Double): Option[Histogram] = {
    val kept = buckets.collect {
      case b if b.high >= low && b.low <= high =>
        val (l, h) = (math.max(b.low, low), math.min(b.high, high))
        Bucket(l, h, if (b.low == b.high) b.ndv else math.max(1.0, b.ndv * (h - l) / (b.high - b.low)))
    }
    if (kept.isEmpty) None else Some(Histogram(kept))
  }
}
