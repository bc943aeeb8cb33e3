package dovetail.kernel.profile

/**
 * Distributions of counts, sums, averages, smallest and largest values over the groups of a grouping. HAVING restricts
 * them, and so do filters and joins above a grouping.
 *
 * Only the mean size of a group is known, and the sizes of the groups of frequent values, if these were counted. The
 * other sizes follow the geometric distribution, which has the largest entropy of all distributions of positive
 * integers with this mean (Jaynes, "Information theory and statistical mechanics", 1957): most groups are smaller than
 * the mean, a few are many times larger. Values are draws from the column that are partly alike within a group; what is
 * known is the column as a whole, so each formula takes the geometric mean of independent and of equal values.
 *
 * @param rows     rows of the input
 * @param groups   groups among them
 * @param frequent rows of the largest groups, if they are known
 */
final class GroupTotals(rows: Double, groups: Double, frequent: Vector[Double] = Vector.empty) {
  private val known = frequent.filter(n => n >= 1.0 && n <= rows)

  /** Share of the groups whose sizes are known, each of them. */
  private val one   = 1.0 / math.max(groups, math.max(known.size.toDouble, 1.0))
  private val other = math.max(0.0, 1.0 - one * known.size)

  /** Rows of any other group, and the probability that such a group of at least n rows has at least n + 1. */
  private val mean = {
    val (left, among) = (rows - known.sum, groups - known.size)
    math.max(math.max(left, 0.0) / math.max(among, 1.0), 1.0 + GroupTotals.LeastRepetition)
  }
  private val more = 1.0 - 1.0 / mean

  /**
   * Counts of the rows of a group in which a column is not NULL.
   *
   * @param nonNull share of these rows, 0 to 1; 1 for `count(*)`
   */
  def count(nonNull: Double): Histogram = {
    // a geometric number of rows, each kept with probability nonNull: geometric again, but for the zero
    val none             = 1.0 - nonNull
    val any              = 1.0 - math.sqrt(sizes(none) * math.min(1.0, none * mean))
    val again            = more * nonNull / (1.0 - more * none)
    val last             = math.max(rows, 1.0)
    val largest          = known.map(_ * nonNull).foldLeft(0.0)(_ max _)
    def above(n: Double) = any * math.pow(again, n)
    val ends             = Iterator.iterate(1.0)(n => if (n < GroupTotals.SingleCounts) n + 1.0 else n * 2.0)
    val bounds           =
      0.0 +: ends.takeWhile(n => n < last && (n <= largest || above(n) > GroupTotals.Negligible)).toVector
    val zero   = bucket(0.0, 0.0, 1.0 - any)
    val inner  = bounds.zip(bounds.tail).map { case (a, b) => bucket(a + 1.0, b, above(a) - above(b)) }
    val beyond = bounds.last + 1.0
    val all    = zero +: inner :+ bucket(beyond, math.max(beyond, last), above(bounds.last))
    distribution(all.flatten, known.map(n => math.rint(n * nonNull)))
  }

  /** Sums of a column over the rows of a group; None if the range of its values is not known. */
  def sum(c: ColumnProfile): Option[Histogram] = ValueSpread.of(c).map { x =>
    val size = mean * c.nonNull
    val most = math.max(rows, 1.0)
    val all  = spread(
      size * x.mean,
      math.sqrt(size * x.variance + x.mean * x.mean * size * (size - 1.0).max(0.0)),
      if (x.low >= 0.0) x.low else x.low * most,
      if (x.high <= 0.0) x.high else x.high * most
    )
    distribution(all, known.map(_ * c.nonNull * x.mean))
  }

  /** Averages of a column over the rows of a group; None if the range of its values is not known. */
  def average(c: ColumnProfile): Option[Histogram] = ValueSpread.of(c).map(x =>
    Histogram(spread(x.mean, math.sqrt(x.variance / math.sqrt(mean)), x.low, x.high))
  )

  /** Largest values of a group: all its values are below x. As if the group had the square root of its rows. */
  def largest(c: ColumnProfile): Option[Histogram] = ValueSpread.of(c).map(_.transformed(sizes(_, math.sqrt(mean))))

  /** Smallest values of a group. */
  def smallest(c: ColumnProfile): Option[Histogram] =
    ValueSpread.of(c).map(_.transformed(below => 1.0 - sizes(1.0 - below, math.sqrt(mean))))

  /**
   * Probability that each row of a group has a property that a row has with probability `p`: E(p^size), for sizes of
   * this mean.
   */
  private def sizes(p: Double, mean: Double = mean): Double = p / (p + mean * (1.0 - p))

  /**
   * A distribution with this mean and standard deviation: log-normal if the values have one sign, normal otherwise.
   *
   * @param low  certain lower limit of the values
   * @param high certain upper limit
   */
  private def spread(center: Double, deviation: Double, low: Double, high: Double): Vector[Bucket] = {
    val sign             = math.signum(center)
    val relative         = deviation / math.abs(center)
    val oneSign          = (low >= 0.0 || high <= 0.0) && center != 0.0
    val ofLog            = math.sqrt(math.log1p(relative * relative))
    def value(z: Double) = math.max(
      low,
      math.min(
        high,
        if (oneSign) center * math.exp(sign * z * ofLog - ofLog * ofLog / 2.0) else center + z * deviation
      )
    )
    val ends = low +: GroupTotals.Grid.map(value) :+ high
    ends.zip(ends.tail).zip(GroupTotals.GridShares).flatMap { case ((from, to), share) => bucket(from, to, share) }
  }

  /** The groups of unknown size, and the known ones, each in the bucket that has its value. */
  private def distribution(all: Vector[Bucket], values: Vector[Double]): Histogram = {
    val last = all.size - 1
    val hits = values.groupBy(v => all.indexWhere(v <= _.high) match { case -1 => last; case i => i })
    Histogram(all.zipWithIndex.flatMap { case (b, i) =>
      val share = b.weight * other + one * hits.get(i).fold(0.0)(_.size.toDouble)
      if (share > 0.0) Some(b.copy(weight = share)) else None
    })
  }

  private def bucket(low: Double, high: Double, share: Double): Option[Bucket] =
    if (share > 0.0) Some(Bucket(low, high, math.max(1.0, groups * share), share)) else None
}

object GroupTotals {

  /**
   * Smallest number of further rows that a group is taken to have, per group: distinct values are counted with an error
   * of about a hundredth, so a key with a few duplicates looks unique.
   */
  private val LeastRepetition = 0.01

  /** Counts up to this number are told apart (`HAVING count(*) = 2`); above it, each range is as wide as all before. */
  private val SingleCounts = 16.0

  /** Share of the groups beyond which no further ranges of counts are made. */
  private val Negligible = 1e-6

  /**
   * Ends of the buckets of a normal distribution, in standard deviations: half a deviation apart. Beyond them are 32
   * groups of a million on each side.
   */
  private val Grid: Vector[Double] = Vector.tabulate(17)(i => -4.0 + i / 2.0)

  /** Shares of the buckets between these ends, and of the two beyond. */
  private val GridShares: Vector[Double] = {
    val below = 0.0 +: Grid.map(normal) :+ 1.0
    below.zip(below.tail).map { case (from, to) => to - from }
  }

  /** Distribution function of the normal distribution (Abramowitz and Stegun 1964, 26.2.17; error below 1e-7). */
  private def normal(z: Double): Double =
    if (z < 0.0) 1.0 - normal(-z)
    else {
      val t       = 1.0 / (1.0 + 0.2316419 * z)
      val density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.Pi)
      val series  = Seq(0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429).foldRight(0.0)((c, sum) =>
        t * (c + sum)
      )
      1.0 - density * series
    }
}
