package org.apache.spark.sql.dovetail.footers

/**
 * Estimates the distinct values of a whole from those of its parts: row groups of a file, or files of a table. Pure
 * arithmetic. Every rule is bounded by what is certain: at least the largest part, at most the sum of the parts.
 *
 * The expected number of distinct values among n values drawn from D is Cardenas' formula (CACM 18(5), 1975). The
 * overlap of two samples tells the size of their population: capture and recapture (Petersen, 1896; Laplace, 1783).
 * Here, only the smallest and the largest value of each part reveal the overlap.
 */
object DistinctHints {

  /** Expected number of distinct values among `n` values drawn at random from `of` values. */
  def expected(of: Double, n: Double): Double =
    if (of.isInfinite) n else if (n <= 0.0) 0.0 else math.min(n, of * -math.expm1(-n / of))

  /**
   * Size of the population from which `n` draws have `d` distinct values: the inverse of `expected`. It is infinite if
   * every draw is a new value.
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
   * Distinct values of a chunk whose writer gave up the dictionary after `seen` of `n` values, with `d` entries. Two
   * models describe the remaining values. In the lower one, values are drawn from a set of fixed size, most of which
   * may have been seen already. In the upper one, new values keep coming at the same rate, as in clustered data. The
   * dictionary does not say which model holds; their geometric mean errs by the same factor either way. If nearly all
   * values were new, both models agree.
   */
  def outgrown(d: Double, seen: Double, n: Double): Double = {
    val s = math.max(math.min(seen, n), d)
    math.sqrt(expected(population(s, d), n) * (d * n / s))
  }

  /**
   * Share of the other parts that have the smallest value of all parts, and the same share for the largest value. Their
   * mean estimates in how many parts a value occurs. Parts of sorted data, and of a key, have no value in common. If
   * each part has all of a few values, the parts have all values in common.
   */
  private def agreement(parts: Seq[Ends]): Option[(Double, Double)] = {
    def common[A](values: Seq[A], end: A): Double = (values.count(_ == end) - 1).toDouble / (values.size - 1)
    val numbers                                   = parts.collect { case n: Numbers => n }
    val texts                                     = parts.collect { case t: Texts => t }
    if (parts.size < 2) None
    else if (numbers.size == parts.size)
      Some((common(numbers.map(_.low), numbers.map(_.low).min), common(numbers.map(_.high), numbers.map(_.high).max)))
    else if (texts.size == parts.size)
      Some((common(texts.map(_.low), texts.map(_.low).min), common(texts.map(_.high), texts.map(_.high).max)))
    else None
  }

  /**
   * Share of the parts in which a value occurs, by the ends of all parts.
   *
   * A value that stands for none (0, -1, the empty text) is one end of every part, even if the parts have nothing else
   * in common. So if one end agrees and the other one does not, and the parts are not repetitions of a few values, the
   * end that does not agree counts.
   */
  private def inCommon(parts: Seq[ChunkValues]): Option[Double] = {
    val ends = parts.flatMap(_.ends)
    (if (ends.size == parts.size) agreement(ends) else None).map { case (low, high) =>
      val (least, most) = (math.min(low, high), math.max(low, high))
      val rich          = parts.map(_.ndv).sum >= ManyValues * parts.map(_.values).sum
      if (rich && most > Everywhere && least < HardlyAnywhere) least else (low + high) / 2.0
    }
  }

  /**
   * Distinct values of a whole with `values` non-null values, of which `parts` are a sample or all.
   *
   * If a value occurs in a share p of the parts, and a part has d distinct values on average, then the parts are drawn
   * from d / p values, and k parts together have d / p * (1 - (1 - p)^k); if p is 0, they have the sum. Without ends,
   * the parts are taken as random draws from one set.
   */
  def union(parts: Seq[ChunkValues], values: Double): Double = {
    val read  = parts.map(_.values).sum
    val scale = if (read > 0.0) math.max(1.0, values / read) else 1.0
    val k     = parts.size * scale
    val d     = parts.map(_.ndv).sum / math.max(parts.size, 1)
    val whole =
      if (parts.size == 1 && scale == 1.0) d
      else
        inCommon(parts) match {
          case Some(p) if p <= 0.0 => k * d
          case Some(p)             => d / p * -math.expm1(k * math.log1p(-math.min(p, AlmostAll)))
          case None                => expected(population(read / parts.size, d), values)
        }
    math.max(parts.map(_.ndv).foldLeft(0.0)(math.max), math.min(whole, k * d))
  }

  /** Share of the parts from which on a value counts as one that all parts have. */
  private val Everywhere = 0.9

  /** Share of the parts up to which a value counts as one that no other part has. */
  private val HardlyAnywhere = 0.1

  /** Distinct values per value from which on parts are no repetitions of a few values. */
  private val ManyValues = 0.1

  /** Number of bisections in the search for the population: beyond the precision of a double. */
  private val Bisections = 60

  /** Largest share of parts in the formula of `union`: log(1 - p) is infinite for p = 1. */
  private val AlmostAll = 1.0 - 1e-12
}

/** Number of non-null values of a part, number of distinct values among them, and their ends. */
final case class ChunkValues(values: Double, ndv: Double, ends: Option[Ends])
