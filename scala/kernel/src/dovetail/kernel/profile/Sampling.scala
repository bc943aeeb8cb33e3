package dovetail.kernel.profile

/** Estimates the share of a table's rows that a predicate keeps from the rows that it keeps in a sample. */
object Sampling {

  /**
   * Number of sample rows that an estimate without a sample is worth. It is two: if the predicate keeps hundreds of
   * sample rows, the formula does not matter.
   */
  val PriorRows = 2.0

  /**
   * Share of the rows that a predicate keeps if it keeps `kept` of `drawn` sample rows: the mean of a beta distribution
   * with the formula's share as prior. If no row is kept, see [[unseen]].
   */
  def share(kept: Double, drawn: Double, formula: Double): Double =
    if (kept <= 0.0) unseen(drawn, formula) else (kept + PriorRows * formula) / (drawn + PriorRows)

  /**
   * Number per row of what none of the drawn rows has: that of the formula, if it is too small for the rows to show,
   * and less than one in so many rows otherwise. A hundred rows of ten million are not seen in 20,000, and a formula
   * that knows their range is right about them.
   */
  def unseen(drawn: Double, formula: Double): Double = if (formula <= 0.0) 0.0 else 1.0 / (drawn + 1.0 / formula)

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

  /**
   * Number of randomly drawn rows that give the same certainty about a predicate as rows that were read in a few
   * places. Rows that lay together are alike. So if the shares differ between places, the number of places counts
   * rather than the number of rows (the design effect; Kish 1965). If no row or every row is kept, each place counts as
   * one row, because places that were not read may differ.
   *
   * @param shares share of the rows that are kept, in each place
   * @param share  share of all rows that are kept
   * @param rows   number of rows
   */
  def worth(shares: Seq[Double], share: Double, rows: Double): Double = {
    val places   = shares.size.toDouble
    val variance = share * (1.0 - share)
    val worth    = if (variance > 0.0) variance / math.max(ofMean(shares, share), variance / (places * RowsPerPlace))
    else places
    math.min(rows, math.max(1.0, worth))
  }

  /** Variance of the mean of all places, by the differences between them. */
  private def ofMean(means: Seq[Double], mean: Double): Double =
    means.map(m => (m - mean) * (m - mean)).sum / math.max(means.size - 1.0, 1.0) / means.size

  /**
   * Relative variance of the mean of some places: 1 if all that counts lies in one of them or if there is only one, and
   * not below what places that were not read may differ. 0 if all means are 0.
   */
  def variation(means: Seq[Double]): Double = {
    val mean = means.sum / math.max(means.size, 1)
    if (mean <= 0.0) 0.0
    else if (means.size < 2) 1.0
    else math.max(ofMean(means, mean) / mean / mean, Variation * Variation / means.size)
  }

  /**
   * Mean number of partners of a row in a join, counted on rows that were read in a few places and mixed with a
   * formula: their geometric mean. The count weighs as much as the partners in further places than the first one,
   * because a single place with all partners does not tell how many such places there are.
   *
   * @param counted   mean number of partners of the rows; if it is 0, each place counts as one row
   * @param variation relative variance of this mean ([[variation]])
   * @param places    number of places that tell whether their rows have partners
   * @param formula   estimate by formulas, which weighs 1
   */
  def partners(counted: Double, variation: Double, places: Double, formula: Double): Double =
    if (formula <= 0.0) 0.0
    else if (counted <= 0.0 || variation <= 0.0) unseen(places, formula)
    else {
      val weight = math.max(0.0, 1.0 / variation - 1.0)
      math.exp((weight * math.log(counted) + math.log(formula)) / (weight + 1.0))
    }

  /**
   * Mean number of partners of a row in a join, counted on randomly drawn rows of which only some have partners. The
   * formula weighs as much as one row with partners, and no more than such a count allows: it is moved into the range
   * of numbers for which the count is likely. So one row that happens to be drawn does not decide, and neither does a
   * formula that contradicts the count.
   *
   * @param counted   mean number of partners of the rows
   * @param partnered number of equally frequent rows with partners that tell as much (Kish 1965)
   * @param drawn     number of rows
   */
  def partnersOfRandom(counted: Double, partnered: Double, drawn: Double, formula: Double): Double =
    if (counted <= 0.0 || partnered <= 0.0) unseen(drawn, formula)
    else {
      val (low, high) = likely(math.min(partnered, drawn), drawn)
      val perShare    = counted * drawn / partnered
      val allowed     = math.max(low * perShare, math.min(formula, high * perShare))
      math.exp((partnered * math.log(counted) + math.log(allowed)) / (partnered + 1.0))
    }

  /** Standard deviations up to the end of the interval: one sample in a billion is further out. */
  private val Certain = 6.0

  /** Largest number of randomly drawn rows that one place is worth, even if all places agree. */
  private val RowsPerPlace = 20.0

  /** Coefficient of variation between places that is assumed at least, because places that were not read may differ. */
  private val Variation = 0.25

  /** Standard deviations up to the end of an interval that holds for nearly all samples. */
  private val Likely = 2.0
}
