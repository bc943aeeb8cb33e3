package dovetail.kernel.profile

/** What the rows that a predicate keeps of a sample say of those it keeps of the table. */
object Sampling {

  /**
   * Rows of a sample that an estimate without a sample is worth. Two: where hundreds of rows are kept it does not
   * matter, and where none is kept a predicate of 10 % is not believed, but neither is one of no rows at all.
   */
  val PriorRows = 2.0

  /**
   * Share of the rows that a predicate keeps, of which `kept` of `drawn` were seen: the mean of a beta distribution
   * with the formula's share as prior.
   */
  def share(kept: Double, drawn: Double, formula: Double): Double = (kept + PriorRows * formula) / (drawn + PriorRows)

  /**
   * Share of the rows that it keeps at most, of which `kept` of `drawn` rows were seen that chance has drawn: the upper
   * end of the score interval (Wilson, "Probable inference", JASA 1927), so far out that no sample is expected to be
   * beyond it in the life of a cluster.
   */
  def atMost(kept: Double, drawn: Double): Double =
    if (drawn <= 0.0) 1.0
    else {
      val z2 = Deviations * Deviations
      math.min(1.0, (kept + z2 / 2.0 + Deviations * math.sqrt(kept * (drawn - kept) / drawn + z2 / 4.0)) / (drawn + z2))
    }

  /** Standard deviations: one sample in a thousand million is further out. */
  private val Deviations = 6.0
}
