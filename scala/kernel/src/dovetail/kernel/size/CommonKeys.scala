package dovetail.kernel.size

import dovetail.kernel.profile.{ColumnProfile, RelationProfile}

/**
 * What the keys of two relations have in common, for joins that test rows for partners or keep rows without one. Inner
 * joins use [[CommonRange]], which has the same rules for a class of more than two members: nothing outside the common
 * range of both keys counts, and as many rows are assumed to lie in it as it can hold. Sales of 5 years that EXISTS
 * looks up in one year of a date dimension of 200 years keep a fifth of their rows, not 1/200.
 *
 * @param mine        distinct values of the one key in the common range; at least 1
 * @param theirs      distinct values of the other key in the common range; at least 1
 * @param mineWithin  share of the one relation's keys that lie in the common range, 0 to 1
 * @param theirWithin share of the other relation's keys that lie in the common range, 0 to 1
 */
final case class CommonKeys(mine: Double, theirs: Double, mineWithin: Double, theirWithin: Double) {

  /** The same from the other side. */
  def swapped: CommonKeys = CommonKeys(theirs, mine, theirWithin, mineWithin)

  /** Share of all pairs of keys that lie in both ranges. */
  def pairs: Double = mineWithin * theirWithin

  /**
   * Share of the one relation's keys that are among `ndv` distinct keys of the other relation (containment). As many of
   * these lie in the common range as rows of that relation do.
   */
  def partnered(ndv: Double): Double =
    mineWithin * math.min(1.0, math.min(ndv * theirWithin, theirs) / math.max(mine, theirs))
}

object CommonKeys {

  /**
   * One side of an equality.
   *
   * @param domain   distinct values that the key draws from
   * @param relation relation of the key, with its predicates
   */
  final case class Side(column: ColumnProfile, domain: Double, relation: RelationProfile) {
    private[CommonKeys] val values    = math.max(1.0, domain)
    private[CommonKeys] val low       = column.min.getOrElse(Double.NaN)
    private[CommonKeys] val high      = column.max.getOrElse(Double.NaN)
    private[CommonKeys] val tableRows = math.max(1.0, relation.baseRows)
    private[CommonKeys] val rows      = math.max(1.0, relation.rows.value)

    /** Share of the values that lie in the range of another key. */
    private[CommonKeys] def partIn(other: Side): Double =
      EqualityShare.ofRange(other.low, other.high, low, high, values, column.distribution.map(_.shares))

    /** Share of the rows in a part of the values, which the range of another key makes. */
    private[CommonKeys] def rowsIn(part: Double, other: Side): Double =
      EqualityShare.ofRows(tableRows, part, rows, column.rangeRows, other.column.rangeShare(other.tableRows))
  }

  def apply(mine: Side, other: Side): CommonKeys =
    if (math.max(mine.low, other.low) > math.min(mine.high, other.high)) {
      // only rows that were added after a range was known can have partners
      val (m, o)                    = (mine.column.unseen, other.column.unseen)
      def added(s: Side, u: Double) = if (u > 0.0) math.max(1.0, s.values * u) else s.values
      CommonKeys(
        added(mine, m),
        added(other, o),
        math.max(m, math.min(1.0, o * other.values / mine.values)),
        math.max(o, math.min(1.0, m * mine.values / other.values))
      )
    } else {
      val (part, otherPart) = (mine.partIn(other), other.partIn(mine))
      CommonKeys(
        math.max(1.0, mine.values * part),
        math.max(1.0, other.values * otherPart),
        mine.rowsIn(part, other),
        other.rowsIn(otherPart, mine)
      )
    }
}
