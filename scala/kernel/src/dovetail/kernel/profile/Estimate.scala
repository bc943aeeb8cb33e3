package dovetail.kernel.profile

/** Source of a number, best first. A number derived from others is as good as the worst of them. */
sealed abstract class Source(val name: String, val rank: Int)

object Source {

  /** Counted: a literal relation, a cached relation, a materialized stage. */
  case object Exact extends Source("exact", 0)

  /** Given by the user, and trusted. */
  case object Given extends Source("given", 1)

  /** Counted by an earlier run of the same sub-plan over the same data, or corrected by similar runs. */
  case object History extends Source("history", 2)

  /** Collected by Dovetail: counted, or estimated from a sample. */
  case object Collected extends Source("dovetail", 3)

  /** The session catalog (ANALYZE TABLE). */
  case object Catalog extends Source("catalog", 4)

  /** Reported by a data source (DataSource V2 SupportsReportStatistics). */
  case object Connector extends Source("connector", 5)

  /** Reported by the database behind a JDBC table (PostgreSQL's `pg_class` and `pg_stats`), as of its own ANALYZE. */
  case object Database extends Source("database", 6)

  /** Footers of files (Parquet, ORC): rows, NULLs and ranges are counted, distinct values deduced from encodings. */
  case object Footer extends Source("footer", 7)

  /** Counted in some parts of text files (CSV, JSON) and scaled up to the size of the files. */
  case object Sample extends Source("sample", 8)

  /** Derived from the size of files and the width of a row. */
  case object Size extends Source("size", 9)

  /** Nothing is known: one of [[Assumptions]]. */
  case object Assumed extends Source("assumed", 10)

  val all: Vector[Source] =
    Vector(Exact, Given, History, Collected, Catalog, Connector, Database, Footer, Sample, Size, Assumed)

  def weakest(a: Source, b: Source): Source = if (a.rank >= b.rank) a else b
}

/**
 * A number of rows (or bytes, or distinct values): the value that we plan with, bounds that hold if their inputs are
 * exact, and the source of the number.
 *
 * The form follows optd's `Estimate` and Trino's `EstimateConfidence`. Unknown is not zero: an unknown number is an
 * `Assumed` value with wide bounds. Combining numbers never yields one that is more trustworthy than its weakest input.
 */
final case class Estimate(value: Double, lower: Double, upper: Double, source: Source) {
  require(
    lower >= 0.0 && lower <= value && value <= upper,
    s"an estimate needs 0 <= lower <= value <= upper: $lower, $value, $upper"
  )

  /** Whether the bounds leave no doubt. */
  def isExact: Boolean = lower == upper

  def *(that: Estimate): Estimate =
    Estimate(
      Estimate.product(value, that.value),
      Estimate.product(lower, that.lower),
      Estimate.product(upper, that.upper),
      Source.weakest(source, that.source)
    )

  /**
   * The rows left by a filter of this selectivity. The share that it really keeps is a guess, so the lower bound is 0.
   */
  def scaled(selectivity: Double): Estimate = {
    require(selectivity >= 0.0, s"negative selectivity $selectivity")
    copy(value = math.min(value * selectivity, upper), lower = 0.0)
  }

  def +(that: Estimate): Estimate =
    Estimate(value + that.value, lower + that.lower, upper + that.upper, Source.weakest(source, that.source))

  /** The same number, with the knowledge that it cannot exceed `limit`. */
  def bounded(limit: Double): Estimate = copy(upper = math.max(value, math.min(upper, limit)))

  def atLeast(least: Double): Estimate = copy(math.max(value, least), math.max(lower, least), math.max(upper, least))

  def atMost(limit: Double): Estimate = copy(math.min(value, limit), math.min(lower, limit), math.min(upper, limit))
}

object Estimate {

  /** Above this many rows a number means "too many". The limit keeps products of large joins finite and comparable. */
  val Ceiling: Double = 1e30

  def exactly(rows: Double, source: Source): Estimate = { val r = math.min(rows, Ceiling); Estimate(r, r, r, source) }
  def guess(rows: Double, source: Source): Estimate   = Estimate(math.min(rows, Ceiling), 0.0, Ceiling, source)
  def upTo(value: Double, upper: Double, source: Source): Estimate = {
    val most = math.min(upper, Ceiling)
    val v    = math.max(0.0, math.min(value, most))
    Estimate(v, 0.0, math.max(v, most), source)
  }

  // 0 * infinity must not become NaN; bounds are finite by construction, so this only has to cap.
  private def product(a: Double, b: Double): Double = math.min(a * b, Ceiling)
}
