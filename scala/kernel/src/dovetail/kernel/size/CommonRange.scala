package dovetail.kernel.size

/**
 * A key and the members of its class before it, within the range that they have in common.
 *
 * @param domain       distinct values of the key that lie there; at least 1
 * @param domainBefore distinct values of the members before it that lie there; at least 1
 * @param pairs        share of the pairs of rows that lie there, 0 to 1
 * @param alongOthers  share of the key's domain that other keys of its relation leave, 0 to 1
 */
final private[size] case class CommonRange(domain: Double, domainBefore: Double, pairs: Double, alongOthers: Double)

private[size] object CommonRange {

  /**
   * Only the common range counts: a date dimension of 200 years joined with 5 years of sales has a domain of 5 years.
   * Ranges that have nothing in common leave no pairs.
   *
   * @param key         of the relation that is added
   * @param input       that relation
   * @param before      the class with the members before it
   * @param first       the relation of the first of them
   * @param restriction share of the most restricted key of `input` that counts: what restricts one key restricts the
   *                    others
   */
  def apply(key: JoinKey, input: JoinInput, before: ClassFold, first: JoinInput, restriction: Double): CommonRange = {
    val inRange     = before.partOf(key)
    val alongOthers =
      if (inRange <= restriction) 1.0 else EqualityShare.alongRange(key.domain, input.tableRows, restriction)
    if (math.max(key.low, before.low) > math.min(key.high, before.high)) CommonRange(1.0, 1.0, 0.0, alongOthers)
    else {
      val part       = inRange * before.part
      val partBefore = EqualityShare.ofRange(key.low, key.high, before.low, before.high, before.domain) * alongOthers
      CommonRange(
        domain = math.max(1.0, key.domain * math.min(part, alongOthers)),
        domainBefore = math.max(1.0, before.domain * partBefore),
        pairs = EqualityShare.ofRows(input.tableRows, part, input.rows) * EqualityShare.ofRows(
          first.tableRows,
          partBefore,
          first.rows
        ),
        alongOthers
      )
    }
  }
}
