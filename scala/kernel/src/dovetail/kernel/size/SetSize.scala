package dovetail.kernel.size

import dovetail.kernel.profile.Estimate

/**
 * Size of the join of a set of relations, in rows. No number is above [[Estimate.Ceiling]].
 *
 * @param rows     estimated rows; at least 1
 * @param cautious rows that the set should not exceed. Filters do not count, a join with a column that looks like a key
 *                 adds no rows, and any other join multiplies the rows by its average number of partners. Counts on
 *                 samples or the upper bound replace this number if they are lower. It is not a bound, because keys are
 *                 recognized by their counts. It decides which results are too risky to broadcast.
 * @param upper    rows that the set cannot exceed; [[Estimate.Ceiling]] if nobody asked for a bound and no key is
 *                 certain
 */
final case class SetSize(rows: Double, cautious: Double, upper: Double) {

  /** The size after a filter that keeps this share of the rows, 0 to 1. The cautious rows stay as they are. */
  def kept(share: Double): SetSize = copy(rows = math.max(1.0, rows * share))

  /** The size with all numbers within their limits: the estimate from 1 to `upper`, nothing above the ceiling. */
  def capped: SetSize = {
    def cap(x: Double) = math.min(x, Estimate.Ceiling)
    SetSize(cap(math.max(1.0, math.min(rows, upper))), cap(cautious), cap(upper))
  }
}
