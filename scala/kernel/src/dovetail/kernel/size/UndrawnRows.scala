package dovetail.kernel.size

/**
 * Rows of a key that a random sample has not drawn, by the number of rows that it has drawn. The estimate knows only
 * the mean and the variance of the rows per key over all keys. It is linear in the rows drawn (Buhlmann 1967), and
 * exact if the rows per key are binomial, Poisson or negative binomial. So it is exact for
 *
 *  - keys with equally many rows: a key that was drawn as often has no more;
 *  - keys with one row or none, as those of a dimension: a key that was drawn has no more;
 *  - rows that are spread by chance: each key has as many more rows as the others;
 *  - keys of which few have many rows (Fisher, Corbet and Williams 1943): the more were drawn, the more there are.
 *
 * @param drawn    rows drawn, of all keys
 * @param squares  sum of the squares of the rows drawn per key
 * @param fraction share of the table's rows that were drawn, above 0, below 1
 * @param keys     number of keys, drawn or not, at least 1
 */
final private[size] class UndrawnRows(drawn: Double, squares: Double, fraction: Double, keys: Double) {

  // rows of the table per key, and how much they vary, without the part that drawing adds
  private val mean     = drawn / keys / fraction
  private val variance =
    math.max(0.0, squares / keys - mean * fraction * mean * fraction - (1.0 - fraction) * fraction * mean) /
      (fraction * fraction)

  // 1 if all keys have equally many rows, 0 if rows are spread by chance, below 0 if they vary more than that
  private val evenness = if (mean > 0.0) 1.0 - variance / mean else 1.0

  // by how much a row that was drawn lowers the number of rows that were not
  private val slope = evenness * (1.0 - fraction) / (1.0 - evenness * fraction)

  private val ofUnseen = mean * (1.0 - fraction) / (1.0 - evenness * fraction)

  /** Expected number of rows that were not drawn, of a key of which `rows` rows were. */
  def apply(rows: Double): Double = math.max(0.0, ofUnseen - slope * rows)

  /** Probability that a predicate keeps at least one of these rows, if it keeps each with probability `share`. */
  def some(rows: Double, share: Double): Double = {
    val kept = apply(rows) * share
    val part = slope * share
    // by the generating function of the distribution at 1 - share; its limit for a slope of 0 is that of Poisson's. The
    // probability is at most the expected number, which rounding may leave slightly above 0 where no row is left.
    if (kept <= 0.0) 0.0
    else {
      val none = if (math.abs(part) < UndrawnRows.ByChance) -kept else kept * math.log1p(-math.min(part, 1.0)) / part
      math.min(kept, -math.expm1(none))
    }
  }
}

private[size] object UndrawnRows {

  /** Slopes up to this one count as 0: below it, the quotient of a logarithm and its argument loses digits. */
  private val ByChance = 1e-9
}
