package dovetail.kernel.size

import dovetail.kernel.profile.{Assumptions, Sampling}

/**
 * Share of the rows of a relation that have a partner in another relation, as counted on samples of both.
 *
 * @param counted    share of the sample's rows
 * @param leastAlone smallest share without a partner that the samples can tell
 * @param places     if the rows were read in a few places: how the places differ
 */
final class PartnerShare private (
    val counted: Double,
    val leastAlone: Double,
    places: Option[PartnerShare.Places]
) {

  /** Whether formulas cannot tell more: the samples are complete, or randomly drawn rows have partners. */
  def isSure: Boolean = places.isEmpty && (leastAlone <= 0.0 || counted > 0.0)

  /**
   * The share. If none of the rows that were drawn at random has a partner, it is one that is too small for them to
   * show. The count of rows of places is mixed with the formula, by how much the places differ.
   */
  def mixed(formula: => Double): Double = places match {
    case Some(p)        => math.min(1.0, Sampling.partners(counted, p.variation, p.told, formula))
    case None if isSure => counted
    case None           => Sampling.unseen(1.0 / leastAlone, formula)
  }
}

object PartnerShare {

  /**
   * @param variation relative variance of the mean of the places ([[Sampling.variation]])
   * @param told      number of places whose keys were drawn in the other sample
   */
  final case class Places(variation: Double, told: Double)

  /** The share on samples that are whole tables. */
  def exact(counted: Double): PartnerShare = new PartnerShare(counted, 0.0, None)

  /**
   * The share among `drawn` rows drawn at random. A sample without a row that has no partner leaves the possibility of
   * one in so many rows (Laplace's rule of succession).
   */
  def ofRandom(counted: Double, drawn: Double): PartnerShare = new PartnerShare(counted, 1.0 / (drawn + 2.0), None)

  /** The share among rows of a few places, which do not tell whether the rows beside them have partners. */
  def ofPlaces(counted: Double, places: Places): PartnerShare =
    new PartnerShare(counted, Assumptions.AntiJoinFloor, Some(places))
}
