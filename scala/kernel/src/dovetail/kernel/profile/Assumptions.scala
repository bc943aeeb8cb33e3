package dovetail.kernel.profile

/** Every number that stands for something we do not know. Selectivities are shares of rows, 0 to 1. */
object Assumptions {

  /** `column = constant` where nothing is known of the column: Selinger et al. 1979, table 1. */
  val Equality = 0.1

  /** `column < constant` without a range or a histogram: Selinger et al. 1979, table 1. */
  val Range = 1.0 / 3.0

  /** Two-sided range without a range or a histogram: Selinger et al. 1979, table 1. */
  val Between = 0.25

  /** `column LIKE 'abc%'`: a prefix of a few letters; rarer than a contained word, commoner than one value. */
  val Prefix = 0.05

  /**
   * `column LIKE '%abc%'`, `'%abc'`, RLIKE: a word somewhere in the text. PostgreSQL and SQL Server start from 5 to 10
   * % too.
   */
  val Pattern = 0.1

  /**
   * A predicate we cannot look into (UDF, arithmetic over columns): neither keeps all rows, as Spark's estimator says,
   * nor few.
   */
  val Opaque = 1.0 / 3.0

  /** `a < b` on two columns of one row: either order is as likely. */
  val ColumnComparison = 1.0 / 3.0

  /** A join predicate that is not an equality (`d1.date < d2.date + 5`). */
  val JoinInequality = 1.0 / 3.0

  /** A join predicate over several relations of which nothing else is known. */
  val JoinOpaque = 0.1

  /** Share of NULLs where no null count is known: most columns have few. */
  val NullFraction = 0.0

  /** IS NULL on a column without a null count. */
  val IsNull = 0.05

  /** Rows of a relation of which not even a size is known (a DataFrame over an RDD, a generator): a middling table. */
  val Rows = 1.0e6

  /**
   * In-memory bytes per byte of columnar, compressed file (Parquet, ORC). TPC-DS scale 1 in Parquet/snappy takes 3.1
   * times its size in UnsafeRows; wide strings compress better, so this is the low end. It turns a file size into rows
   * when nothing else is known.
   */
  val ColumnarExpansion = 3.0

  /**
   * Distinct values of a column per row of its relation, where nothing is known and the column is grouped by: Spark and
   * Hive use a tenth too.
   */
  val GroupingFraction = 0.1

  /** Distinct values of a column that is no key and of which nothing is known: PostgreSQL's DEFAULT_NUM_DISTINCT. */
  val AttributeNdv = 200.0

  /** EXISTS and IN keep half of the left rows where neither side's keys are known. */
  val SemiJoin = 0.5

  /**
   * A filter on what an outer join may have filled with NULLs (`b.x IS NULL`), or on whether there was a partner
   * (`EXISTS (…) OR …`): how many rows had none is not known, and these are what it asks for.
   */
  val LateFilter = 0.5

  /**
   * An anti join always keeps something: containment says zero whenever every key may have a partner, which is seldom
   * the truth.
   */
  val AntiJoinFloor = 0.05

  /** Rows that a generator (explode) makes of one: short arrays. */
  val GeneratorRows = 4.0

  /**
   * Predicates on columns of one relation are seldom independent. The most selective counts in full, each further one
   * with its exponent multiplied by this (exponential back-off: SQL Server 2014 halves the exponent, Trino takes three
   * quarters, Spark one).
   */
  val ConjunctionBackoff = 0.75

  /**
   * The same for the NDVs of several columns together; key columns that go together determine each other to a good
   * part.
   */
  val JointNdvBackoff = 0.5

  /**
   * NDV that counts as unique: a HyperLogLog count of a key column deviates by its relative error (Spark's default: 5
   * %).
   */
  val UniqueNdvShare = 0.9

  /** Bytes of a row beyond its columns (UnsafeRow: null bits and offsets), as in Spark's EstimationUtils. */
  val RowOverhead = 8.0

  /** Bytes of the column that an existence join adds: a boolean's. */
  val FlagBytes = 1.0

  /** Bytes of a string of which no length is known: Spark's default size of StringType. */
  val StringBytes = 20.0

  /** Combines the selectivities of predicates on different columns of one relation, the most selective first. */
  def conjunction(selectivities: Seq[Double]): Double = damped(selectivities.sorted, ConjunctionBackoff)

  /** Joint NDV of several columns of one relation, the largest first; the caller caps it by the rows. */
  def jointNdv(ndvs: Seq[Double]): Double = damped(ndvs.sorted(Ordering[Double].reverse), JointNdvBackoff)

  private def damped(factors: Seq[Double], backoff: Double): Double =
    factors.zipWithIndex.map { case (f, i) => math.pow(f, math.pow(backoff, i.toDouble)) }.product

  /**
   * How far a column repeats its values ([[ColumnProfile.repetition]]): 0 for a key, near 1 where each value has many
   * rows.
   */
  def repetition(domain: Double, rows: Double): Double = math.max(0.0, 1.0 - domain / math.max(rows, 1.0))

  /**
   * What a join of two columns that both repeat their values makes beyond the product of the average frequencies, where
   * nothing is known of the frequencies: what is busy in one table is busy in others (a customer with many orders has
   * many returns), and frequencies vary as much as their average (an exponential distribution). With k such columns
   * whose frequencies go together entirely that is k!, with independent ones 1; we take the geometric mean, sqrt(k!),
   * of which each further column adds the root of its number.
   */
  def busyKeysMeet(repetition: Double, before: Double): Double = math.sqrt(1.0 + repetition * before)

  /**
   * `column = constant` on a column of `ndv` values of unknown frequencies. Values that repeat are seldom equally
   * frequent, and people ask for the frequent ones: a constant taken from a row of a Zipf distributed column (exponent
   * 1) keeps ζ(2) / H(n)² of the rows, one of a uniform column 1 / n. The geometric mean errs by the same factor either
   * way. A key repeats nothing: 1 / n. (Of 97 equalities in queries on real data, the mean factor of error fell from
   * 3.2 to 2.8.)
   */
  def oneOf(ndv: Double, repetition: Double): Double = {
    val n        = math.max(ndv, 1.0)
    val harmonic = math.log(n) + EulerGamma + 0.5 / n
    val zipf     = math.min(1.0, ZetaOf2 / (harmonic * harmonic))
    math.pow(math.max(1.0, n * zipf), repetition / 2.0) / n
  }

  /**
   * Share of a column's values in `[from, to]`, of which only the range `[low, high]` is known. Keys, dates and codes
   * fill their range evenly; what counts or measures something has more small values than large ones, at best evenly
   * over the orders of magnitude (the prior of a scale, Jeffreys 1939). The more a column repeats its values, the more
   * the second account counts, up to a half. Where all values lie far from zero the two agree. (Of 92 ranges in queries
   * on real data, the mean factor of error fell from 2.4 to 1.9, the 95th percentile from 58 to 8.)
   */
  def between(from: Double, to: Double, low: Double, high: Double, ndv: Option[Double], repetition: Double): Double = {
    val even = Interval.part(from, to, low, high)
    val gap  = (high - low) / math.max(1.0, ndv.getOrElse(1.0) - 1.0)
    if (repetition <= 0.0 || low < 0.0 || ndv.isEmpty || gap.isInfinite) even
    else {
      // a value takes the gap up to the next one, and none lies nearer to zero than a gap
      val byMagnitude = math.log((to + 2.0 * gap) / (from + gap)) / math.log((high + 2.0 * gap) / (low + gap))
      even + repetition / 2.0 * (math.min(1.0, byMagnitude) - even)
    }
  }

  private val EulerGamma = 0.5772156649015329
  private val ZetaOf2    = math.Pi * math.Pi / 6.0

  /** Distinct values left of `ndv`, when a random `kept` of `rows` rows stay: Cardenas 1975, Yao 1977. */
  def distinctAfter(ndv: Double, rows: Double, kept: Double): Double =
    if (kept >= rows || rows <= 0.0) math.min(ndv, math.max(kept, 0.0))
    else if (kept <= 0.0) 0.0
    else math.min(kept, ndv * -math.expm1(math.log1p(-kept / rows) * (rows / math.max(ndv, 1.0))))

  /**
   * Distinct keys left of `ndv`, when a join with other tables keeps `kept` of `rows` rows. The rows of one key seldom
   * stay or go independently of each other: those of a customer come in baskets of one day and one shop. It is the
   * geometric mean of the keys left if the rows of a key stay or go together, and if they do so independently
   * ([[distinctAfter]]), which errs by the same factor either way.
   */
  def keysAfter(ndv: Double, rows: Double, kept: Double): Double =
    if (kept >= rows || kept <= 0.0 || rows <= 0.0) distinctAfter(ndv, rows, kept)
    else math.sqrt(distinctAfter(ndv, rows, kept) * (ndv * kept / rows))
}
