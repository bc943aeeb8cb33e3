package dovetail.kernel.profile

/**
 * Estimates the distinct values of a table from a uniform sample of its rows: the estimator Duj1 of Haas and Stokes,
 * "Estimating the number of classes in a finite population", JASA 93 (1998), which PostgreSQL's ANALYZE also uses. It
 * is exact for a whole table and for a key, and too low if frequencies vary very much.
 */
object DistinctInSample {

  /**
   * @param values one number per sampled row; equal if the rows' values are equal
   * @param rows   rows of the table, at least as many as sampled rows
   */
  def apply(values: Array[Long], rows: Double): Double = apply(Runs(values), rows)

  /** The same for numbers that are counted already. */
  def apply(values: Runs, rows: Double): Double = {
    val (drawn, seen, once) = (values.total.toDouble, values.number.toDouble, values.of(1).toDouble)
    if (drawn == 0.0) 0.0
    else if (drawn >= rows) seen
    else math.max(seen, math.min(rows, drawn * seen / (drawn - once + once * drawn / rows)))
  }
}
