package dovetail.kernel.profile

/**
 * One bucket of a histogram: `ndv` distinct values in [low, high], with a share of all values proportional to `weight`.
 */
final case class Bucket(low: Double, high: Double, ndv: Double, weight: Double = 1.0) {
  require(low <= high && !low.isInfinite && !high.isInfinite, s"bucket [$low, $high] is no range")
  require(
    ndv >= 0.0 && !ndv.isInfinite && weight > 0.0 && !weight.isInfinite,
    s"bucket [$low, $high] with $ndv values of weight $weight"
  )
}

/**
 * Equi-height histogram over the non-null values of a column. As collected, every bucket holds the same share of the
 * values (Piatetsky-Shapiro and Connell 1984). After a range predicate, the buckets at the ends are lighter. A value
 * that fills several buckets is frequent and counts with all of them. If a bucket begins with the last value of the
 * bucket before it, as in Spark's histograms, that value is counted in the bucket before it.
 */
final case class Histogram(buckets: Vector[Bucket]) {
  require(
    buckets.nonEmpty && buckets.zip(buckets.tail).forall { case (a, b) => a.high <= b.low },
    "buckets ascend and do not overlap"
  )

  private val weight  = buckets.iterator.map(_.weight).sum
  private val ownsLow = buckets.indices.map(i => i == 0 || buckets(i - 1).high < buckets(i).low)

  /** The same for many ranges; made only once. */
  lazy val shares: CumulativeShare = CumulativeShare(this)

  def min: Double = buckets.head.low
  def max: Double = buckets.last.high

  /**
   * Share of the values in [low, high]. Whether an end is included matters only if the histogram tells its single value
   * apart, which it does at the ends of buckets.
   */
  def between(low: Double, high: Double, lowIncluded: Boolean = true, highIncluded: Boolean = true): Double =
    math.min(
      1.0,
      touched(low, high).iterator.flatMap(part(_, low, high, lowIncluded, highIncluded)).map(_.weight).sum / weight
    )

  /**
   * Share of the values that equal `value`: all buckets of only this value, and one of the distinct values of the
   * bucket that contains it.
   */
  def equalTo(value: Double): Double = between(value, value)

  /** Distinct values in [low, high]. */
  def ndvBetween(low: Double, high: Double, lowIncluded: Boolean = true, highIncluded: Boolean = true): Double =
    touched(low, high).iterator.flatMap(i =>
      part(i, low, high, lowIncluded, highIncluded).filter(p => p.low < p.high || first(i, p.low)).map(_.ndv)
    ).sum

  /** The histogram after a range predicate, or None if nothing is left. */
  def restrictedTo(
      low: Double,
      high: Double,
      lowIncluded: Boolean = true,
      highIncluded: Boolean = true
  ): Option[Histogram] = {
    val kept = touched(low, high).flatMap(part(_, low, high, lowIncluded, highIncluded)).toVector
    if (kept.isEmpty) None else Some(Histogram(kept))
  }

  /**
   * Numbers of the buckets that have a value in [low, high] in common, by binary search: a list of a hundred thousand
   * constants asks for each of them.
   */
  private def touched(low: Double, high: Double): Range = firstOf(_.high >= low) until firstOf(_.low > high)

  /** Number of the first bucket for which a test holds that also holds for all buckets after it. */
  private def firstOf(test: Bucket => Boolean): Int = {
    var (from, to) = (0, buckets.size)
    while (from < to) {
      val middle = (from + to) / 2
      if (test(buckets(middle))) to = middle else from = middle + 1
    }
    from
  }

  /** Whether `value`, which lies in bucket `i`, has not been counted with the bucket before. */
  private def first(i: Int, value: Double): Boolean = value > buckets(i).low || ownsLow(i)

  /**
   * The part of bucket `i` that a range keeps: a part in proportion to the range's width with at least one value, a
   * single value, or nothing.
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

object Histogram {

  /**
   * Histogram of some of a column's values, which lie at quantiles of all its values. The ends of the range take a part
   * together. A few values far from all others thus have few rows.
   *
   * @param values some values, in ascending order; not empty
   * @param parts  number of quantiles, at least 1
   * @param min    smallest value of the column, if it is known
   * @param max    largest value of the column, if it is known
   * @param before share of a part that lies before its quantile, above 0 and below 1. Of a table in the order of the
   *               column, of which a few places were read, each of them stands for the rows up to the next one.
   */
  def ofQuantiles(
      values: Array[Double],
      parts: Int,
      min: Option[Double],
      max: Option[Double],
      before: Double = 0.5
  ): Histogram = {
    val quantiles =
      Vector.tabulate(parts)(i => values(math.min(values.length - 1, (i + before) / parts * values.length).toInt))
    val low  = min.fold(quantiles.head)(math.min(_, quantiles.head))
    val high = max.fold(quantiles.last)(math.max(_, quantiles.last))
    val ends = low +: quantiles :+ high
    Histogram(ends.zip(ends.tail).zipWithIndex.map { case ((from, to), i) =>
      Bucket(from, to, 1.0, if (i == 0) before else if (i == parts) 1.0 - before else 1.0)
    })
  }
}
