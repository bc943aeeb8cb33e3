package org.apache.spark.sql.dovetail.footers

/**
 * Distinct values of a whole from those of its parts: row groups of a file, files of a table. Pure arithmetic; every
 * rule bounded by what is certain, which is the largest part below and the sum of the parts above.
 *
 * The expected number of distinct values among n that are drawn from D is Cardenas' (CACM 18(5), 1975); that two
 * samples tell the size of what they are drawn from by what they have in common is capture and recapture (Petersen,
 * 1896; Laplace, 1783). Here what they have in common is seen at the ends alone.
 */
object DistinctHints {

  /** Distinct values among `n` drawn at random from `of`. */
  def expected(of: Double, n: Double): Double =
    if (of.isInfinite) n else if (n <= 0.0) 0.0 else math.min(n, of * -math.expm1(-n / of))

  /**
   * The number of values of which `n` draws have `d` distinct ones: the inverse of `expected`; infinite where every
   * draw is a new value.
   */
  def population(n: Double, d: Double): Double =
    if (d >= n) Double.PositiveInfinity
    else {
      // (1 - e^-x) / x falls from 1 to 0 while x = n / population grows
      var (low, high) = (0.0, math.max(2.0, 2.0 * n / math.max(d, 1.0)))
      (1 to Bisections).foreach { _ =>
        val x = (low + high) / 2.0
        if (-math.expm1(-x) / x > d / n) low = x else high = x
      }
      n / high
    }

  /**
   * A dictionary that was given up after `seen` of `n` values with `d` entries. Two accounts of how it went on: the
   * values are drawn from a set of fixed size, of which most may have been seen (the lower one), or new values keep
   * coming as they did, as in data that lies in clusters (the upper one). The dictionary does not say which; the
   * geometric mean errs by the same factor either way. Where nearly all values were new, both say the same.
   */
  def outgrown(d: Double, seen: Double, n: Double): Double = {
    val s = math.max(math.min(seen, n), d)
    math.sqrt(expected(population(s, d), n) * (d * n / s))
  }

  /**
   * Share of the other parts that have the smallest value of all, and the largest: in how many parts one value is to be
   * found. Parts of sorted data, and of a key, have none in common; parts that have each seen all of a few values have
   * them all.
   */
  def agreement(parts: Seq[Ends]): Option[Double] = {
    def common[A](values: Seq[A], end: A): Double = (values.count(_ == end) - 1).toDouble / (values.size - 1)
    val numbers                                   = parts.collect { case n: Numbers => n }
    val texts                                     = parts.collect { case t: Texts => t }
    if (parts.size < 2) None
    else if (numbers.size == parts.size) Some((common(
      numbers.map(_.low),
      numbers.map(_.low).min
    ) + common(numbers.map(_.high), numbers.map(_.high).max)) / 2.0)
    else if (texts.size == parts.size)
      Some((common(texts.map(_.low), texts.map(_.low).min) + common(texts.map(_.high), texts.map(_.high).max)) / 2.0)
    else None
  }

  /**
   * Distinct values of a whole of `values` non-null values, of which `parts` are a sample or all.
   *
   * Where a value is in a share p of the parts, and a part has d on average, the parts are drawn from d / p values, and
   * k of them together have d / p * (1 - (1 - p)^k); the sum where p is 0. Without ends, parts are taken for random
   * draws from one set.
   */
  def union(parts: Seq[ChunkValues], values: Double): Double = {
    val read  = parts.map(_.values).sum
    val scale = if (read > 0.0) math.max(1.0, values / read) else 1.0
    val k     = parts.size * scale
    val d     = parts.map(_.ndv).sum / math.max(parts.size, 1)
    val ends  = parts.flatMap(_.ends)
    val whole =
      if (parts.size == 1 && scale == 1.0) d
      else
        (if (ends.size == parts.size) agreement(ends) else None) match {
          case Some(p) if p <= 0.0 => k * d
          case Some(p)             => d / p * -math.expm1(k * math.log1p(-math.min(p, AlmostAll)))
          case None                => expected(population(read / parts.size, d), values)
        }
    math.max(parts.map(_.ndv).foldLeft(0.0)(math.max), math.min(whole, k * d))
  }

  /** Halvings of the interval in which the population is sought: beyond the precision of a double. */
  private val Bisections = 60

  /** A share of one has no logarithm of its rest. */
  private val AlmostAll = 1.0 - 1e-12
}

/** Non-null values of a part, the distinct ones among them, and their ends. */
final case class ChunkValues(values: Double, ndv: Double, ends: Option[Ends])
