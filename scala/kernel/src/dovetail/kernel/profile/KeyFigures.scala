package dovetail.kernel.profile

/**
 * Figures on the rows of a sample that predicates keep, by the key of a column. Bounds of joins need only these, so
 * they are kept for all queries with the same predicates ([[KeyMemo]]), without the rows of each key.
 *
 * @param largest rows with the most frequent key, 0 if no row has a key
 * @param keys    number of keys that rows have
 * @param rows    number of rows that have a key
 */
final case class KeyFigures(largest: Double, keys: Int, rows: Double) {

  /** Rows of the sample that one row of another relation meets at most, at least 1. */
  def mostPartners: Double = math.max(1.0, largest)

  /** Rows with the most frequent key as a multiple of the average, at least 1. */
  def skew: Double = if (keys == 0) 1.0 else largest * keys / rows
}
