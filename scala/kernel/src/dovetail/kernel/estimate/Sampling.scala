package dovetail.kernel.estimate

/** What the rows that a predicate keeps of a sample say of those it keeps of the table. */
object Sampling {

  /**
   * Rows of a sample that an estimate without a sample is worth. Two: where hundreds of rows are kept it does not matter, and where none is kept a predicate
   * of 10 % is not believed, but neither is one of no rows at all.
   */
  val PriorRows = 2.0

  /** Share of the rows that a predicate keeps, of which `kept` of `drawn` were seen: the mean of a beta distribution with the formula's share as prior. */
  def share(kept: Double, drawn: Double, formula: Double): Double = (kept + PriorRows * formula) / (drawn + PriorRows)
}
