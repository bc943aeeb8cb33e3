package dovetail.kernel.estimate

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

  /** `column LIKE '%abc%'`, `'%abc'`, RLIKE: a word somewhere in the text. PostgreSQL and SQL Server start from 5 to 10 % too. */
  val Pattern = 0.1

  /** A predicate we cannot look into (UDF, arithmetic over columns): neither keeps all rows, as Spark's estimator says, nor few. */
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
   * In-memory bytes per byte of columnar, compressed file (Parquet, ORC). TPC-DS scale 1 in Parquet/snappy takes 3.1 times its size in UnsafeRows;
   * wide strings compress better, so this is the low end. It turns a file size into rows when nothing else is known.
   */
  val ColumnarExpansion = 3.0

  /** Distinct values of a column per row of its relation, where nothing is known and the column is grouped by: Spark and Hive use a tenth too. */
  val GroupingFraction = 0.1

  /** Distinct values of a column that is no key and of which nothing is known: PostgreSQL's DEFAULT_NUM_DISTINCT. */
  val AttributeNdv = 200.0

  /** EXISTS and IN keep half of the left rows where neither side's keys are known. */
  val SemiJoin = 0.5

  /**
   * A filter on what an outer join may have filled with NULLs (`b.x IS NULL`), or on whether there was a partner (`EXISTS (…) OR …`): how many rows had none
   * is not known, and these are what it asks for.
   */
  val LateFilter = 0.5

  /** An anti join always keeps something: containment says zero whenever every key may have a partner, which is seldom the truth. */
  val AntiJoinFloor = 0.05

  /** Rows that a generator (explode) makes of one: short arrays. */
  val GeneratorRows = 4.0

  /**
   * Predicates on columns of one relation are seldom independent. The most selective counts in full, each further one with its exponent multiplied by this
   * (exponential back-off: SQL Server 2014 halves the exponent, Trino takes three quarters, Spark one).
   */
  val ConjunctionBackoff = 0.75

  /** The same for the NDVs of several columns together; key columns that go together determine each other to a good part. */
  val JointNdvBackoff = 0.5

  /** NDV that counts as unique: a HyperLogLog count of a key column deviates by its relative error (Spark's default: 5 %). */
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

  /** Distinct values left of `ndv`, when a random `kept` of `rows` rows stay: Cardenas 1975, Yao 1977. */
  def distinctAfter(ndv: Double, rows: Double, kept: Double): Double =
    if (kept >= rows || rows <= 0.0) math.min(ndv, math.max(kept, 0.0))
    else if (kept <= 0.0) 0.0
    else math.min(kept, ndv * -math.expm1(math.log1p(-kept / rows) * (rows / math.max(ndv, 1.0))))
}
