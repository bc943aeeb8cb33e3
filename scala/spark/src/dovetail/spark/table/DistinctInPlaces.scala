package org.apache.spark.sql.dovetail.table

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
   * Places that draw from very many values share few of them, too. If enough values occur in two places, they tell how
   * many values there are (the estimator of Chao, "Estimating the population size for capture-recapture data with
   * unequal catchability", Biometrics 43, 1987). It is a lower bound if some values are more frequent than others, as
   * those of a list beside texts that never repeat. More values then occur in three places than chance explains, and
   * the geometric mean of this number and the extrapolated one is used, as it is if there are only two places. The two
   * halves of a single place tell nothing of the rest.
   *
   * @param places values of the kept rows of each place
   * @param times  rows of the table per kept row
   * @param read   rows that were read in the places per kept row
   * @param halves whether these are the two halves of a single place
   */
  def apply(places: Seq[Array[Long]], times: Double, read: Double, halves: Boolean): Double = {
    val sets = places.filter(_.nonEmpty).map(Runs(_))
    // in how many places each value occurs
    val placesOf    = Runs(Array.concat(sets.map(_.values): _*))
    val (seen, sum) = (placesOf.number.toDouble, sets.map(_.number).sum.toDouble)
    val all         = Array.concat(places: _*)
    val drawn       = DistinctInSample(all, all.length * times)
    if (sets.size < 2 || seen < (1.0 - HardlyAny) * sum) drawn
    else {
      val extrapolated = sets.map(p => DistinctInSample(p, p.total * read)).sum * times / read
      val local        = if (sum / sets.size >= LocalValues) extrapolated else math.sqrt(seen * extrapolated)
      math.max(
        drawn,
        (if (halves) None else recaptured(placesOf, sets.size)).fold(local)(found =>
          if (found.even) math.min(local, found.values) else math.sqrt(local * math.min(local, found.values))
        )
      )
    }
  }

  /** @param even whether values are seen to occur in as many places as if all were equally frequent */
  final private case class Recaptured(values: Double, even: Boolean)

  /** @param placesOf values, with the number of places in which each occurs */
  private def recaptured(placesOf: Runs, places: Int): Option[Recaptured] = {
    val (once, twice) = (placesOf.of(1).toDouble, placesOf.of(2).toDouble)
    if (twice < LeastShared) None
    else {
      val values = placesOf.number + (places - 1.0) / places * once * once / (2.0 * twice)
      // by the binomial distribution of the number of places
      val inThree = twice * twice / math.max(once, 1.0) * 2.0 * (places - 2.0) / (3.0 * (places - 1.0))
      val more    = placesOf.number - once - twice
      val even    = places >= LeastPlaces && more <= inThree + Deviations * math.sqrt(inThree) + Defaults
      Some(Recaptured(values, even))
    }
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

  /** Fewest places in which values can be seen more often than chance explains. */
  private val LeastPlaces = 3

  /** Standard deviations by which more values may be in three places or more. */
  private val Deviations = 3.0

  /** Values that may be in nearly all places although the others are equally frequent: a default. */
  private val Defaults = 1.0
}
