package dovetail.kernel.size

import dovetail.kernel.profile.{Assumptions, CumulativeShare}

/**
 * Formulas for inner joins by equalities, on plain numbers. Rows and domains (distinct values) are at least 1, shares
 * are between 0 and 1. [[SetFold]] applies the formulas to the relations of a set one after the other.
 */
private[size] object EqualityShare {

  /**
   * Share of the values between `from` and `to` that also lie between `low` and `high`. Values are spread evenly if
   * nobody knows better. One value far from all others, such as -1 for "unknown" beside dates, makes a range wide and
   * nearly empty.
   *
   * @param values number of distinct values between `from` and `to`; at least one of them lies in a common range
   * @param shares where the values lie, if known
   * @return share, above 0 to 1. It is 1 if an end is unknown (NaN), if `from` and `to` are equal, or if the ranges
   *         have nothing in common.
   */
  def ofRange(
      low: Double,
      high: Double,
      from: Double,
      to: Double,
      values: Double,
      shares: Option[CumulativeShare] = None
  ): Double = {
    val l = math.max(low, from)
    val h = math.min(high, to)
    if (to > from && l <= h) {
      val all = if (shares.isEmpty) 0.0 else shares.get.between(from, to)
      // the ends are halved, so that the width of a range is always finite
      val part = if (all > 0.0) math.min(1.0, shares.get.between(l, h) / all) else (h / 2 - l / 2) / (to / 2 - from / 2)
      math.max(part, 1.0 / values)
    } else 1.0
  }

  /**
   * Share of a column's domain that is left if only a range of another key of its relation counts. Five of two hundred
   * years of days have fewer weeks, but no fewer weekdays. The result is the geometric mean of two shares: that of a
   * column that follows the key, and that of a column that is independent of the key (Cardenas 1975, Yao 1977:
   * [[Assumptions.distinctAfter]]).
   *
   * @param tableRows   rows of the relation's table
   * @param restriction share of the other key's values that counts
   */
  def alongRange(domain: Double, tableRows: Double, restriction: Double): Double =
    if (restriction >= 1.0) 1.0
    else
      math.sqrt(
        math.max(1.0 / domain, restriction) *
          math.min(1.0, Assumptions.distinctAfter(domain, tableRows, tableRows * restriction) / domain)
      )

  /**
   * Share of a relation's rows that lie in a part of its key's domain. As many rows are assumed to lie there as that
   * part can hold, because people filter dimensions to the values that the facts have, and facts to the same days. This
   * does not hold as far as predicates of the other relation alone have made the part: they are independent of those of
   * this one.
   *
   * @param tableRows rows of the relation's table, evenly spread over the domain
   * @param part      share of the domain
   * @param rows      rows that the relation's predicates leave
   * @param rangeRows rows of the table in the domain, if predicates of the relation have narrowed it
   * @param narrowed  share of the other relation's table to which predicates have narrowed the range of its key
   */
  def ofRows(tableRows: Double, part: Double, rows: Double, rangeRows: Option[Double], narrowed: Double): Double =
    if (rangeRows.isEmpty && narrowed < 1.0) {
      // the part that the data of the other relation makes, and what its predicates leave of that
      val whole = math.min(1.0, part / narrowed)
      part / whole * math.min(1.0, tableRows * whole / rows)
    } else math.min(1.0, math.max(rangeRows.getOrElse(tableRows), rows) * part / rows)

  /**
   * Share of the pairs of rows that `a = b` keeps. Every value of the smaller domain is a value of the larger one
   * (containment; Selinger et al. 1979).
   *
   * @param busy   factor for values that are frequent on both sides, 1 or more ([[Assumptions.busyKeysMeet]])
   * @param within share of the pairs that lie in both ranges
   */
  def ofPairs(domain: Double, otherDomain: Double, within: Double, busy: Double): Double =
    busy * within / math.max(domain, otherDomain)

  /**
   * Distinct combinations of several keys of a relation. A counted number is used as far as the single domains allow
   * it. Otherwise the number is estimated by back-off, at most one combination for each row of the table.
   *
   * @param counted combinations in the table, if somebody counted them
   * @param single  domain of each key
   */
  def jointDomain(counted: Option[Double], single: Seq[Double], tableRows: Double): Double = counted match {
    case Some(combinations) => math.min(combinations, single.product)
    case None               => math.min(Assumptions.jointNdv(single), tableRows)
  }

  /**
   * Correction factor for the product of single shares if several classes form a composite key between two relations.
   * The joint domain replaces the product of the single domains, and the factor for frequent combinations replaces the
   * factors for frequent single values.
   *
   * @param single product over the keys of the larger domain of the two sides
   * @param joint  distinct combinations on one side
   * @param other  distinct combinations on the other side
   * @param busy   factor for frequent combinations, 1 or more
   * @param alone  factor that was already applied for frequent single values, 1 or more
   */
  def compositeCorrection(single: Double, joint: Double, other: Double, busy: Double, alone: Double): Double =
    single / math.max(math.max(joint, other), 1.0) * busy / alone
}
