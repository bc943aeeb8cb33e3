package org.apache.spark.sql.dovetail.table

import java.util.Arrays

import dovetail.kernel.profile.{DistinctInSample, Runs}

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
   * Places that draw from very many values share few of them, too. If enough values occur in two places, they bound the
   * number of values (the estimator of Chao, "Estimating the population size for capture-recapture data with unequal
   * catchability", Biometrics 43, 1987).
   *
   * @param places values of the kept rows of each place
   * @param times  rows of the table per kept row
   * @param read   rows that were read in the places per kept row
   */
  def apply(places: Seq[Array[Long]], times: Double, read: Double): Double = {
    val filled = places.filter(_.nonEmpty).map(sorted)
    val sets   = filled.map(Runs(_).values)
    // in how many places each value occurs
    val placesOf    = Runs(sorted(Array.concat(sets: _*)))
    val (seen, sum) = (placesOf.number.toDouble, sets.map(_.length).sum.toDouble)
    val drawn       = DistinctInSample(Array.concat(filled: _*), filled.map(_.length).sum * times)
    if (sets.size < 2 || seen < (1.0 - HardlyAny) * sum) drawn
    else {
      val all   = filled.map(p => DistinctInSample.ofSorted(p, p.length * read)).sum * times / read
      val local = if (sum / sets.size >= LocalValues) all else math.sqrt(seen * all)
      math.max(drawn, math.min(local, recaptured(placesOf, sets.size).getOrElse(local)))
    }
  }

  /** @param placesOf values, with the number of places in which each occurs */
  private def recaptured(placesOf: Runs, places: Int): Option[Double] = {
    val (once, twice) = (placesOf.of(1).toDouble, placesOf.of(2).toDouble)
    if (twice < LeastShared) None else Some(placesOf.number + (places - 1.0) / places * once * once / (2.0 * twice))
  }

  private def sorted(values: Array[Long]): Array[Long] = { val copy = values.clone(); Arrays.sort(copy); copy }

  /** Largest share of values that places may have in common if each place is still taken to have its own values. */
  private val HardlyAny = 0.1

  /**
   * Number of distinct values per place from which on the values of a place are assumed not to occur in the rows
   * between the places.
   */
  private val LocalValues = 10.0

  /** Fewest values in two places that count as chance. Neighboring places may share one value, and defaults are few. */
  private val LeastShared = 8.0
}
