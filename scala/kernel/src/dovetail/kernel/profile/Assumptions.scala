package dovetail.kernel.profile

/** All numbers that stand in for something unknown. Selectivities are shares of rows, 0 to 1. */
object Assumptions {

  /** `column = constant` if nothing is known about the column: Selinger et al. 1979, table 1. */
  val Equality = 0.1

  /**
   * Share of the rows with one of `values` values, if nothing is known about the column: [[Equality]] for one value,
   * and less than all rows for any number of them.
   */
  def anyOf(values: Double): Double = values / (values + 1.0 / Equality - 1.0)

  /** `column < constant` without a range or a histogram: Selinger et al. 1979, table 1. */
  val Range = 1.0 / 3.0

  /** Two-sided range without a range or a histogram: Selinger et al. 1979, table 1. */
  val Between = 0.25

  /**
   * `column LIKE 'abc%'`: a prefix of a few letters. It is rarer than a contained word and more common than one value.
   */
  val Prefix = 0.05

  /**
   * `column LIKE '%abc%'`, `'%abc'`, RLIKE: a word in the text. PostgreSQL and SQL Server also start from 5 to 10 %.
   */
  val Pattern = 0.1

  /**
   * A predicate that we cannot look into (UDF, arithmetic over columns). It keeps neither all rows, as Spark's
   * estimator assumes, nor few.
   */
  val Opaque = 1.0 / 3.0

  /**
   * `a < b` on two columns of one row whose ranges are unknown: System R's default for a comparison that is not an
   * equality (Selinger et al., SIGMOD 1979, table 1).
   */
  val ColumnComparison = 1.0 / 3.0

  /** A join predicate that is not an equality (`d1.date < d2.date + 5`). */
  val JoinInequality = 1.0 / 3.0

  /** A join predicate over several relations about which nothing else is known. */
  val JoinOpaque = 0.1

  /** Share of NULLs if no null count is known: most columns have few. */
  val NullFraction = 0.0

  /** IS NULL on a column without a null count. */
  val IsNull = 0.05

  /** Rows of a relation whose size is unknown too (a DataFrame over an RDD, a generator): a table of medium size. */
  val Rows = 1.0e6

  /**
   * In-memory bytes per byte of a columnar, compressed file (Parquet, ORC). As UnsafeRows, TPC-DS scale 1 takes 3.1
   * times its size in Parquet/snappy. Wide strings compress better, so this is the low end. It turns a file size into
   * rows if nothing else is known.
   */
  val ColumnarExpansion = 3.0

  /**
   * Distinct values of a grouping column per row of its relation if nothing is known. Spark and Hive also use a tenth.
   */
  val GroupingFraction = 0.1

  /**
   * Distinct values of a column that is not a key and about which nothing is known: PostgreSQL's DEFAULT_NUM_DISTINCT.
   */
  val AttributeNdv = 200.0

  /** Share of the left rows that EXISTS and IN keep if the distinct keys of the right side are not known, at most. */
  val SemiJoin = 0.5

  /**
   * Selectivity of a filter on columns that an outer join may have filled with NULLs (`b.x IS NULL`), or on whether a
   * partner exists (`EXISTS (…) OR …`). Such a filter asks for the rows without a partner, and their number is not
   * known.
   */
  val LateFilter = 0.5

  /**
   * Smallest share of the left rows that an anti join keeps. Containment gives zero if every key may have a partner,
   * which is seldom true.
   */
  val AntiJoinFloor = 0.05

  /** Rows that a generator (explode) makes from one input row: arrays are short. */
  val GeneratorRows = 4.0

  /**
   * Back-off for predicates on different columns of one relation, which are seldom independent. The most selective
   * predicate counts in full. The exponent of each further one is multiplied by this (exponential back-off: SQL Server
   * 2014 halves the exponent, Trino takes three quarters, Spark one).
   */
  val ConjunctionBackoff = 0.75

  /**
   * The same for the NDVs of several columns together. Key columns that are used together largely determine each other.
   */
  val JointNdvBackoff = 0.5

  /**
   * Share of the rows that an NDV must reach to count as unique. A HyperLogLog count of a key column deviates by its
   * relative error (Spark's default: 5 %).
   */
  val UniqueNdvShare = 0.9

  /** Bytes of a row beyond its columns (UnsafeRow: null bits and offsets), as in Spark's EstimationUtils. */
  val RowOverhead = 8.0

  /** Bytes of the boolean column that an existence join adds. */
  val FlagBytes = 1.0

  /** Bytes of a string of unknown length: Spark's default size of StringType. */
  val StringBytes = 20.0

  /** Combines the selectivities of predicates on different columns of one relation, the most selective first. */
  def conjunction(selectivities: Seq[Double]): Double = damped(selectivities.sorted, ConjunctionBackoff)

  /** Joint NDV of several columns of one relation, the largest first. The caller limits it to the number of rows. */
  def jointNdv(ndvs: Seq[Double]): Double = damped(ndvs.sorted(Ordering[Double].reverse), JointNdvBackoff)

  private def damped(factors: Seq[Double], backoff: Double): Double =
    factors.zipWithIndex.map { case (f, i) => math.pow(f, math.pow(backoff, i.toDouble)) }.product

  /**
   * How far a column repeats its values ([[ColumnProfile.repetition]]): 0 for a key, near 1 for many rows per value.
   */
  def repetition(domain: Double, rows: Double): Double = math.max(0.0, 1.0 - domain / math.max(rows, 1.0))

  /**
   * Factor by which a join of two columns that both repeat their values exceeds the product of the average frequencies,
   * if nothing is known about the frequencies. Values that are frequent in one table are frequent in others (a customer
   * with many orders has many returns), and frequencies vary as much as their average (an exponential distribution).
   * For k such columns the factor is k! if their frequencies are fully correlated, and 1 if they are independent. We
   * take the geometric mean, sqrt(k!): each further column multiplies it by the square root of its number. Even if all
   * rows had one value, no more than all pairs would meet: one in `domain` of them meets on average.
   *
   * @param domain distinct values of the side that has more of them
   */
  def busyKeysMeet(repetition: Double, before: Double, domain: Double): Double =
    math.min(math.sqrt(1.0 + repetition * before), math.max(domain, 1.0))

  /**
   * Selectivity of `column = constant` for a column of `ndv` values with unknown frequencies. Values that repeat are
   * seldom equally frequent, and people ask for the frequent ones: a constant taken from a row of a Zipf distributed
   * column (exponent 1) keeps ζ(2) / H(n)² of the rows, a constant of a uniform column 1 / n. The geometric mean is off
   * by the same factor either way. A key repeats nothing: 1 / n. (For 97 equalities in queries on real data, the mean
   * q-error fell from 3.2 to 2.8.)
   */
  def oneOf(ndv: Double, repetition: Double): Double = {
    val n        = math.max(ndv, 1.0)
    val harmonic = math.log(n) + EulerGamma + 0.5 / n
    val zipf     = math.min(1.0, ZetaOf2 / (harmonic * harmonic))
    math.pow(math.max(1.0, n * zipf), repetition / 2.0) / n
  }

  /**
   * Share of a column's values in `[from, to]` if only the column's range `[low, high]` is known. Keys, dates and codes
   * fill their range evenly. Counts and measures have more small values than large ones; in the extreme case, they are
   * spread evenly over the orders of magnitude (the prior of a scale, Jeffreys 1939). The more a column repeats its
   * values, the more the second model counts, up to a half. If all values are far from zero, the two models agree. (For
   * 92 ranges in queries on real data, the mean q-error fell from 2.4 to 1.9 and the 95th percentile from 58 to 8.)
   */
  def between(from: Double, to: Double, low: Double, high: Double, ndv: Option[Double], repetition: Double): Double = {
    val even = Interval.part(from, to, low, high)
    val gap  = (high - low) / math.max(1.0, ndv.getOrElse(1.0) - 1.0)
    if (repetition <= 0.0 || low < 0.0 || ndv.isEmpty || gap.isInfinite) even
    else {
      // a value covers the gap up to the next value, and no value is nearer to zero than one gap
      val byMagnitude = math.log(orders(from, to, gap)) / math.log(orders(low, high, gap))
      if (byMagnitude.isNaN) even else even + repetition / 2.0 * (math.min(1.0, byMagnitude) - even)
    }
  }

  /** The quotient of the ends of a range, a gap further out. All ends are divided by four, so that sums are finite. */
  private def orders(from: Double, to: Double, gap: Double): Double = (to / 4.0 + gap / 2.0) / (from / 4.0 + gap / 4.0)

  private val EulerGamma = 0.5772156649015329
  private val ZetaOf2    = math.Pi * math.Pi / 6.0

  /** Distinct values left of `ndv` if a random `kept` of `rows` rows stay: Cardenas 1975, Yao 1977. */
  def distinctAfter(ndv: Double, rows: Double, kept: Double): Double =
    if (kept >= rows || rows <= 0.0) math.min(ndv, math.max(kept, 0.0))
    else if (kept <= 0.0) 0.0
    else math.min(kept, ndv * -math.expm1(math.log1p(-kept / rows) * (rows / math.max(ndv, 1.0))))

  /**
   * Distinct keys left of `ndv` if a join with other tables keeps `kept` of `rows` rows. The rows of one key seldom
   * stay or go independently: the rows of a customer come in baskets of one day and one shop. The result is the
   * geometric mean of the keys left if the rows of a key stay or go together, and of the keys left if they do so
   * independently ([[distinctAfter]]). It is off by the same factor either way.
   */
  def keysAfter(ndv: Double, rows: Double, kept: Double): Double =
    if (kept >= rows || kept <= 0.0 || rows <= 0.0) distinctAfter(ndv, rows, kept)
    else math.sqrt(distinctAfter(ndv, rows, kept) * (ndv * kept / rows))
}
