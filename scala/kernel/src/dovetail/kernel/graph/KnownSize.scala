package dovetail.kernel.graph

import dovetail.kernel.profile.{Estimate, Source}

/** Knowledge about the rows of a set of relations that is better than the estimate. */
sealed trait KnownSize {

  /** @param estimated rows estimated without this knowledge */
  def rows(estimated: Double): Estimate
}

object KnownSize {

  /** A known number of rows. */
  final case class Rows(known: Estimate) extends KnownSize {
    override def rows(estimated: Double): Estimate = known
  }

  /** How far earlier estimates of similar sets were off: the factor to multiply the estimate by, and its bounds. */
  final case class Factor(value: Double, lower: Double, upper: Double) extends KnownSize {
    require(lower > 0.0 && lower <= value && value <= upper, s"a factor needs 0 < lower <= value <= upper: $this")

    override def rows(estimated: Double): Estimate = {
      def times(factor: Double) = math.min(estimated * factor, Estimate.Ceiling)
      Estimate(times(value), times(lower), times(upper), Source.History)
    }
  }

  def exactly(rows: Double, source: Source): KnownSize = Rows(Estimate.exactly(rows, source))
}
