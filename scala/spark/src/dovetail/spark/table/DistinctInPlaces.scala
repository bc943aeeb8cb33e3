package org.apache.spark.sql.dovetail.table

import scala.collection.mutable

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
   * Places that draw from very many values share few of them, too. If enough values occur in two places, they bound the
   * number of values (the estimator of Chao, "Estimating the population size for capture-recapture data with unequal
   * catchability", Biometrics 43, 1987).
   *
   * @param places values of the kept rows of each place
   * @param times  rows of the table per kept row
   * @param read   rows that were read in the places per kept row
   */
  def apply(places: Seq[Array[Long]], times: Double, read: Double): Double = {
    val sets     = places.map(_.distinct).filter(_.nonEmpty)
    val placesOf = mutable.LongMap.empty[Int]
    sets.foreach(_.foreach(v => placesOf(v) = placesOf.getOrElse(v, 0) + 1))
    val (seen, sum) = (placesOf.size.toDouble, sets.map(_.length).sum.toDouble)
    val drawn       = DistinctInSample(places.iterator.flatMap(_.iterator), places.map(_.length).sum * times)
    if (sets.size < 2 || seen < (1.0 - HardlyAny) * sum) drawn
    else {
      val all   = places.map(p => DistinctInSample(p.iterator, p.length * read)).sum * times / read
      val local = if (sum / sets.size >= LocalValues) all else math.sqrt(seen * all)
      math.max(drawn, math.min(local, recaptured(placesOf, sets.size).getOrElse(local)))
    }
  }

  /** @param placesOf in how many of the places each value occurs */
  private def recaptured(placesOf: mutable.LongMap[Int], places: Int): Option[Double] = {
    val once  = placesOf.valuesIterator.count(_ == 1).toDouble
    val twice = placesOf.valuesIterator.count(_ == 2).toDouble
    if (twice < LeastShared) None else Some(placesOf.size + (places - 1.0) / places * once * once / (2.0 * twice))
  }

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
