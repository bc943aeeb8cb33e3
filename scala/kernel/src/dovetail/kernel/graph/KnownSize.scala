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
   * alone, and at most to the upper bound of the estimate. How widely the earlier errors spread says nothing about the
   * largest one possible, so the upper bound stays.
   */
  final case class Factor(value: Double) extends KnownSize {
    require(value > 0.0, s"a factor is positive: $this")

    override def rows(own: Estimate): Estimate = {
      val corrected = math.min(own.value * value, own.upper)
      Estimate(corrected, math.min(own.lower, corrected), own.upper, Source.History)
    }
  }

  def exactly(rows: Double, source: Source): KnownSize = Rows(Estimate.exactly(rows, source))
}
