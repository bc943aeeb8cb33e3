package dovetail.kernel.size

import dovetail.kernel.profile.{Assumptions, Estimate}

/**
 * Formulas of inner joins by equalities, on plain numbers. Rows and domains (distinct values) are at least 1, shares
 * lie between 0 and 1. [[SetFold]] applies them to the relations of a set one after the other.
 */
private[size] object EqualityShare {

  /**
   * Share of the values between `from` and `to` that lie between `low` and `high` as well, where values are spread
   * evenly.
   *
   * @param values number of distinct values between `from` and `to`: at least one of them lies in a common range
   * @return above 0 to 1; 1 where an end is not known (NaN), where `from` and `to` are not apart, or where the ranges
   *         have nothing in common
   */
  def ofRange(low: Double, high: Double, from: Double, to: Double, values: Double): Double = {
    val l = math.max(low, from)
    val h = math.min(high, to)
    if (to > from && l <= h) math.max((h - l) / (to - from), 1.0 / values) else 1.0
  }

  /**
   * Share of a column's domain that is left when only a range of another key of its relation counts: five of two
   * hundred years of days have fewer weeks, but no fewer weekdays. It is the geometric mean of the shares of a column
   * that follows the key, and of one that has nothing to do with it (Cardenas 1975, Yao 1977:
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
   * Share of a relation's rows that lie in a part of its key's domain. Rows lie there as far as the part can hold them:
   * people filter dimensions to what the facts have.
   *
   * @param tableRows rows of the relation's table, of which the part holds its share
   * @param part      share of the domain
   * @param rows      that the relation's predicates leave
   */
  def ofRows(tableRows: Double, part: Double, rows: Double): Double = math.min(1.0, tableRows * part / rows)

  /**
   * Share of the pairs of rows that `a = b` keeps: every value of the smaller domain is one of the larger (containment;
   * Selinger et al. 1979).
   *
   * @param busy   what frequent values on both sides add, 1 or more ([[Assumptions.busyKeysMeet]])
   * @param within share of the pairs that lie in both ranges
   */
  def ofPairs(domain: Double, otherDomain: Double, within: Double, busy: Double): Double =
    busy * within / math.max(domain, otherDomain)

  /**
   * Rows of a relation per row of those before it, counted cautiously: the average of its keys' rows, or all of them
   * where no domain is known.
   *
   * @param most      rows of the relation at most, or 1 where a key of it is bound
   * @param tableRows rows of its table
   * @param domain    the largest known domain of a bound key; 0 where there is none
   * @return from 1 to `most`
   */
  def partners(most: Double, tableRows: Double, domain: Double): Double =
    if (domain > 0.0) math.min(most, math.max(1.0, tableRows / domain)) else most

  /**
   * Distinct combinations of several keys of a relation: as counted, as far as the single domains still allow it; else
   * by back-off, at most one for each row of the table.
   *
   * @param counted combinations in the table, where somebody counted them
   * @param single  domain of each key
   */
  def jointDomain(counted: Option[Double], single: Seq[Double], tableRows: Double): Double = counted match {
    case Some(combinations) => math.min(combinations, single.product)
    case None               => math.min(Assumptions.jointNdv(single), tableRows)
  }

  /**
   * What to multiply the product of single shares by, where several classes are a composite key between two relations:
   * the joint domain takes the place of the product of the single ones, and busy combinations that of busy single
   * values.
   *
   * @param single product over the keys of the larger domain of the two sides
   * @param joint  distinct combinations on one side
   * @param other  distinct combinations on the other side
   * @param busy   what busy combinations add, 1 or more
   * @param alone  what busy single values have added, 1 or more
   */
  def compositeCorrection(single: Double, joint: Double, other: Double, busy: Double, alone: Double): Double =
    single / math.max(math.max(joint, other), 1.0) * busy / alone

  /** Cautious rows of a join: those before it times the partners of each, at most [[Estimate.Ceiling]]. */
  def cautiousRows(before: Double, partners: Double): Double = math.min(before * partners, Estimate.Ceiling)
}
