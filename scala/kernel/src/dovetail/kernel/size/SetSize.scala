package dovetail.kernel.size

import dovetail.kernel.profile.Estimate

/**
 * Size of a set of relations once they are joined, in rows. No number is above [[Estimate.Ceiling]].
 *
 * @param rows     the estimate; at least 1
 * @param cautious rows that the set should not exceed: filters count for nothing, joins with what looks like a key add
 *                 no rows, other joins add their average number of partners; or what counts on samples or the upper
 *                 bound leave possible, if that is less. Not a bound, for keys are recognized by their counts. It
 *                 decides what is too risky to broadcast.
 * @param upper    rows that the set cannot exceed; [[Estimate.Ceiling]] where nobody asked for a bound and no key is
 *                 certain
 */
final case class SetSize(rows: Double, cautious: Double, upper: Double) {

  /**
   * The size after a filter that keeps this share of the rows, 0 to 1. Filters count for nothing where caution is asked
   * for.
   */
  def kept(share: Double): SetSize = copy(rows = math.max(1.0, rows * share))

  /** The size with all numbers in their bounds: the estimate from 1 to `upper`, nothing above the ceiling. */
  def capped: SetSize = {
    def cap(x: Double) = math.min(x, Estimate.Ceiling)
    SetSize(cap(math.max(1.0, math.min(rows, upper))), cap(cautious), cap(upper))
  }
}
