package org.apache.spark.sql.dovetail.table

import dovetail.kernel.profile.Histogram

/**
 * Where the values of a column lie, from rows that were read of its table. Joins need it: a range alone says nothing of
 * a value such as -1 or 9999-12-31 that stands far from all others.
 */
object ValueQuantiles {

  /** @param distinct all distinct values of the column, in ascending order; not empty */
  def ofAll(distinct: Array[Double]): Histogram =
    Histogram.ofQuantiles(distinct, math.min(Most, distinct.length), distinct.headOption, distinct.lastOption)

  /**
   * @param values values of a sample of rows
   * @param places number of places of the table at which the rows were read, each at the beginning of a part of the
   *               table; None if they are a random sample
   * @param inside whether the places lie inside of these parts
   * @return None if there are too few values or places
   */
  def ofSample(
      values: Array[Double],
      places: Option[Int],
      min: Option[Double],
      max: Option[Double],
      inside: Boolean = false
  ): Option[Histogram] = {
    val parts = math.min(places.getOrElse(Most), values.length)
    if (parts < LeastPlaces) None
    else {
      java.util.Arrays.sort(values)
      Some(Histogram.ofQuantiles(values, parts, min, max, if (places.isEmpty || inside) 0.5 else BeforePlace))
    }
  }

  /** Most quantiles: of what lies between two of them, an estimate is off by 1/128 of the values on average. */
  private val Most = 64

  /** Share of a part before the rows that were read of it: more than a few values far below all others have. */
  private val BeforePlace = 0.05

  /** Fewer places may all lie in one part of the range. */
  private val LeastPlaces = 4

  /** Most values of a sample that are looked at, so that a query with many columns does not wait for it. */
  val MostValues = 2048
}
