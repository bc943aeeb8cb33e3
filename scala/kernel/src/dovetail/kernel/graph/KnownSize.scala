package dovetail.kernel.graph

import dovetail.kernel.profile.{Estimate, Source}

/** Knowledge about the rows of a set of relations that is better than the estimate. */
sealed trait KnownSize {

  /** @param own estimate without this knowledge */
  def rows(own: Estimate): Estimate
}

object KnownSize {

  /** A known number of rows. */
  final case class Rows(known: Estimate) extends KnownSize {
    override def rows(own: Estimate): Estimate = known
  }

  /**
   * How far earlier estimates of similar sets were off: the factor to multiply the estimate by. It corrects the value
   * alone. How widely the earlier errors spread says nothing about the largest one possible, so the upper bound stays
   * that of the estimate.
   */
  final case class Factor(value: Double) extends KnownSize {
    require(value > 0.0, s"a factor is positive: $this")

    override def rows(own: Estimate): Estimate = {
      val corrected = math.min(own.value * value, Estimate.Ceiling)
      Estimate(corrected, math.min(own.lower, corrected), math.max(own.upper, corrected), Source.History)
    }
  }

  def exactly(rows: Double, source: Source): KnownSize = Rows(Estimate.exactly(rows, source))
}
