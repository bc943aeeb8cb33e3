package dovetail.kernel.size

import dovetail.kernel.profile.{Assumptions, ColumnProfile, RelationProfile}

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
   * Share of left keys that have a partner: the share of the common domain's values that the right side still has
   * (containment, [[CommonKeys]]). If the right side's distinct values are not known, they are at most its rows.
   *
   * @param left  key of the left side and its relation
   * @param right key of the right side and its relation
   */
  def semiShare(left: (ColumnProfile, RelationProfile), right: (ColumnProfile, RelationProfile)): Double = {
    def partnered(ndv: Double) = CommonKeys(
      CommonKeys.Side(left._1, left._1.domain.getOrElse(1.0), left._2),
      CommonKeys.Side(right._1, right._1.domain.getOrElse(ndv), right._2)
    ).partnered(ndv)
    right._1.ndv match {
      case Some(ndv) if left._1.domain.orElse(right._1.domain).isDefined => partnered(ndv)
      case None if left._1.domain.isDefined => math.min(Assumptions.SemiJoin, partnered(right._2.rows.value))
      case _                                => Assumptions.SemiJoin
    }
  }

  /**
   * Share of left rows that have no partner.
   *
   * @param least smallest share that the estimate of the partners can tell from none
   */
  def antiShare(semiShare: Double, least: Double = Assumptions.AntiJoinFloor): Double = math.max(1.0 - semiShare, least)
}
