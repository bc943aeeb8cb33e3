package org.apache.spark.sql.dovetail.report

/**
 * The factor between an estimated and a true number of rows (Moerkotte, Neumann and Steidl, PVLDB 2(1), 2009); no rows
 * count as one.
 */
object QError {
  def apply(estimated: Double, actual: Double): Double = {
    val (e, a) = (math.max(estimated, 1.0), math.max(actual, 1.0))
    math.max(e / a, a / e)
  }
}
