package dovetail.kernel.profile

/** Estimates the share of a table's rows that a predicate keeps from the rows that it keeps in a sample. */
object Sampling {

  /**
   * Number of sample rows that an estimate without a sample is worth. It is two: if the predicate keeps hundreds of
   * sample rows, the formula does not matter, and if it keeps none, the result is neither the 10 % of a formula nor
   * zero.
   */
  val PriorRows = 2.0

  /**
   * Share of the rows that a predicate keeps if it keeps `kept` of `drawn` sample rows: the mean of a beta distribution
   * with the formula's share as prior.
   */
  def share(kept: Double, drawn: Double, formula: Double): Double = (kept + PriorRows * formula) / (drawn + PriorRows)

  /**
   * Largest share of the rows that a predicate may keep if it keeps `kept` of `drawn` randomly drawn rows: the upper
   * end of the score interval (Wilson, "Probable inference", JASA 1927), so far out that no sample is expected to be
   * beyond it in the life of a cluster.
   */
  def atMost(kept: Double, drawn: Double): Double = interval(kept, drawn, Certain)._2

  /** Shares between which the true one lies with 19 samples of 20: the same interval with two standard deviations. */
  def likely(kept: Double, drawn: Double): (Double, Double) = interval(kept, drawn, Likely)

  private def interval(kept: Double, drawn: Double, deviations: Double): (Double, Double) =
    if (drawn <= 0.0) (0.0, 1.0)
    else {
      val z2             = deviations * deviations
      val half           = deviations * math.sqrt(kept * (drawn - kept) / drawn + z2 / 4.0)
      def end(d: Double) = math.max(0.0, math.min(1.0, (kept + z2 / 2.0 + d) / (drawn + z2)))
      (end(-half), end(half))
    }

  /** Standard deviations up to the end of the interval: one sample in a billion is further out. */
  private val Certain = 6.0

  /** Standard deviations up to the end of an interval that holds for nearly all samples. */
  private val Likely = 2.0
}
