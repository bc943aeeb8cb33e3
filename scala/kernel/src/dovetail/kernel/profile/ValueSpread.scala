package dovetail.kernel.profile

/**
 * How the non-NULL values of a column are spread over its range, from the best that is known of them: all values and
 * their frequencies, a histogram, or the range alone. Input of [[GroupTotals]].
 *
 * @param cells buckets in ascending order; their weights are shares of the values
 */
final private[profile] class ValueSpread private (cells: Vector[Bucket]) {
  def low: Double  = cells.head.low
  def high: Double = cells.last.high

  val mean: Double = cells.iterator.map(b => b.weight * ValueSpread.middle(b)).sum

  /** Variance of the values, which are spread evenly within a bucket. */
  val variance: Double = cells.iterator.map { b =>
    val (off, width) = (ValueSpread.middle(b) - mean, b.high - b.low)
    b.weight * (off * off + width * width / 12.0)
  }.sum

  /**
   * The spread of other values of the same range.
   *
   * @param below share of these values up to a value, from the share of the column's values up to it; ascends from 0
   *              to 1
   */
  def transformed(below: Double => Double): Histogram = {
    val ends = cells.scanLeft(0.0)((sum, b) => math.min(1.0, sum + b.weight))
    Histogram(cells.zip(ends.zip(ends.tail)).flatMap { case (b, (from, to)) =>
      halved(b, from, to, below, ValueSpread.Halvings)
    })
  }

  /** A bucket with its new share; halves of it, if that share is large, because its values are not spread evenly. */
  private def halved(
      b: Bucket,
      from: Double,
      to: Double,
      below: Double => Double,
      deeper: Int
  ): Vector[Bucket] = {
    val share  = below(to) - below(from)
    val middle = ValueSpread.middle(b)
    if (share > ValueSpread.LargeShare && deeper > 0 && b.low < middle && middle < b.high) {
      val half = (from + to) / 2.0
      halved(b.copy(high = middle, ndv = b.ndv / 2.0), from, half, below, deeper - 1) ++
        halved(b.copy(low = middle, ndv = b.ndv / 2.0), half, to, below, deeper - 1)
    } else if (share > 0.0) Vector(b.copy(weight = share))
    else Vector.empty
  }
}

private[profile] object ValueSpread {

  /** None if nothing is known about the range of the values, or if their squares are too large for a Double. */
  def of(c: ColumnProfile): Option[ValueSpread] = cells(c).map { cells =>
    val all = cells.iterator.map(_.weight).sum
    new ValueSpread(cells.map(b => b.copy(weight = b.weight / all)))
  }

  private def cells(c: ColumnProfile): Option[Vector[Bucket]] = {
    def possible(low: Double, high: Double) = low >= -Largest && high <= Largest
    c.frequent.filter(_.onLine).map(values).filter(b => b.nonEmpty && possible(b.head.low, b.last.high))
      .orElse(c.histogram.filter(h => possible(h.min, h.max)).map(_.buckets))
      .orElse(for (low <- c.min; high <- c.max if possible(low, high)) yield slices(low, high, c))
      .filter(_.nonEmpty)
  }

  private def values(f: Frequencies): Vector[Bucket] =
    f.values.flatMap(v =>
      v.number.filter(n => v.share > 0.0 && !n.isNaN && !n.isInfinite).map(n => Bucket(n, n, 1.0, v.share))
    ).sortBy(_.low)

  /** Cuts the range into slices of one width; small values count more if the column repeats them, as in any range. */
  private def slices(low: Double, high: Double, c: ColumnProfile): Vector[Bucket] =
    if (low == high) Vector(Bucket(low, high, 1.0))
    else {
      val ends   = Vector.tabulate(Slices + 1)(i => low + (high - low) * (i.toDouble / Slices))
      val shares = ends.map(Assumptions.between(low, _, low, high, c.ndv, c.repetition))
      val ndv    = c.ndv.getOrElse(1.0)
      ends.zip(ends.tail).zip(shares.zip(shares.tail)).collect {
        case ((from, to), (a, b)) if b > a && to > from =>
          Bucket(from, to, ndv * (b - a), b - a)
      }
    }

  private def middle(b: Bucket): Double = b.low / 2.0 + b.high / 2.0

  /** Slices of a range without a histogram. A mean is off by at most half a slice, 1/64 of the range. */
  private val Slices = 32

  /** Share of the values above which a bucket is halved. */
  private val LargeShare = 1.0 / Slices

  /** How often a bucket is halved at most: groups of 2^20 rows have their largest values in this part of the range. */
  private val Halvings = 20

  /** Values beyond this are left alone: the square of a sum of 10^20 of them is still a Double. */
  private val Largest = 1e100
}
