package dovetail.kernel.size

import dovetail.kernel.profile.{Assumptions, ColumnProfile}

/**
 * Sizes of single joins, as formulas on numbers of rows. The formulas for inner and outer joins are those of Spark's
 * cost-based optimizer (Hu et al. 2017, "Join Cardinality"), which follow Selinger et al. 1979 and Swami and Schiefer
 * 1994. Semi and anti joins have formulas of their own, because Spark passes the left rows through unchanged.
 */
object JoinSize {

  /**
   * Share of the pairs that `a = b` keeps: every value of the side with fewer values has a partner (containment). So
   * `num(A IJ B) = num(A) * num(B) / max(distinct(A.k), distinct(B.k))`.
   */
  def equality(leftNdv: Double, rightNdv: Double): Double = 1.0 / math.max(math.max(leftNdv, rightNdv), 1.0)

  /**
   * Share of the pairs that `a <=> b` keeps, where NULLs meet each other.
   *
   * @param left  share of the left rows with a value
   * @param right share of the right rows with a value
   * @param equal share of the pairs with two values that are equal
   */
  def nullSafe(left: Double, right: Double, equal: Double): Double =
    (1.0 - left) * (1.0 - right) + left * right * equal

  /** `num(A LOJ B) = max(num(A IJ B), num(A))`. */
  def leftOuter(inner: Double, left: Double): Double = math.max(inner, left)

  /** `num(A FOJ B) = num(A LOJ B) + num(A ROJ B) - num(A IJ B)`. */
  def fullOuter(inner: Double, left: Double, right: Double): Double =
    leftOuter(inner, left) + leftOuter(inner, right) - inner

  /**
   * Share of left rows that have a partner: the share of the common domain's values that the right side still has
   * (containment).
   */
  def semiShare(leftDomain: Option[Double], right: ColumnProfile): Double =
    (for (r <- right.ndv; d <- (leftDomain ++ right.domain).reduceOption(_ max _))
      yield math.min(1.0, r / math.max(d, 1.0)))
      .getOrElse(Assumptions.SemiJoin)

  /**
   * Share of left rows that have no partner.
   *
   * @param least smallest share that the estimate of the partners can tell from none
   */
  def antiShare(semiShare: Double, least: Double = Assumptions.AntiJoinFloor): Double = math.max(1.0 - semiShare, least)
}
