package org.apache.spark.sql.dovetail.table

import dovetail.kernel.profile.DistinctInSample

/**
 * Number of distinct values of a table from rows that were read in a few places of its files. The estimator for random
 * samples ([[DistinctInSample]]) holds unless each place has its own values, as in files that are sorted by them:
 * there, it sees most values many times and takes them for all there are.
 */
private[table] object DistinctInPlaces {

  /**
   * The estimate for a random sample, unless places hardly share values. The number of values then grows in proportion
   * to the number of rows. If each place has only few values, these may go on beside it: the true number is between the
   * values seen and the extrapolated number, and their geometric mean is used.
   *
   * @param places values of the kept rows of each place
   * @param times  rows of the table per kept row
   * @param read   rows that were read in the places per kept row
   */
  def apply(places: Seq[Array[Long]], times: Double, read: Double): Double = {
    val sets        = places.map(_.toSet).filter(_.nonEmpty)
    val (seen, sum) = (sets.reduceOption(_ union _).fold(0)(_.size).toDouble, sets.map(_.size).sum.toDouble)
    val drawn       = DistinctInSample(places.iterator.flatMap(_.iterator), places.map(_.length).sum * times)
    if (sets.size < 2 || seen < (1.0 - HardlyAny) * sum) drawn
    else {
      val all = places.map(p => DistinctInSample(p.iterator, p.length * read)).sum * times / read
      math.max(drawn, if (sum / sets.size >= LocalValues) all else math.sqrt(seen * all))
    }
  }

  /** Largest share of values that places may have in common if each place is still taken to have its own values. */
  private val HardlyAny = 0.1

  /**
   * Number of distinct values per place from which on the values of a place are assumed not to occur in the rows
   * between the places.
   */
  private val LocalValues = 10.0
}
