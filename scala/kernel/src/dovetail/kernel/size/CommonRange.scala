package dovetail.kernel.size

/**
 * The range that a join key has in common with the earlier members of its class.
 *
 * @param domain       distinct values of the key in the common range; at least 1
 * @param domainBefore distinct values of the earlier members in the common range; at least 1
 * @param pairs        share of the pairs of rows in the common range, 0 to 1
 * @param alongOthers  share of the key's domain that other keys of its relation leave, 0 to 1
 * @param beyond       whether the known ranges have nothing in common, and only rows that were added later can match
 */
final private[size] case class CommonRange(
    domain: Double,
    domainBefore: Double,
    pairs: Double,
    alongOthers: Double,
    beyond: Boolean = false
)

private[size] object CommonRange {

  /**
   * Finds the common range. Nothing outside it counts: a date dimension of 200 years joined with 5 years of sales has a
   * domain of 5 years. Ranges that have nothing in common leave no pairs, unless rows were added after a range was
   * known: sales of the days since the last analysis are joined with these days.
   *
   * @param key         key of the added relation
   * @param input       added relation
   * @param before      class with its earlier members
   * @param first       relation of the first of these members
   * @param restriction share of the most restricted key of `input` that counts; the restriction of one key restricts
   *                    the others too
   */
  def apply(key: JoinKey, input: JoinInput, before: ClassFold, first: JoinInput, restriction: Double): CommonRange = {
    val inRange     = before.partOf(key)
    val alongOthers = if (inRange <= restriction) 1.0 else key.alongOthers(input.tableRows, restriction)
    if (math.max(key.low, before.low) > math.min(key.high, before.high)) added(key, input, before, first, alongOthers)
    else {
      val part       = inRange * before.part
      val partBefore = before.partIn(key) * alongOthers
      CommonRange(
        domain = math.max(1.0, key.domain * math.min(part, alongOthers)),
        domainBefore = math.max(1.0, before.domain * partBefore),
        pairs = EqualityShare.ofRows(input.tableRows, part, input.rows, key.rangeRows, before.narrowed) *
          EqualityShare.ofRows(first.tableRows, partBefore, first.rows, before.rangeRows, key.rangeShare),
        alongOthers
      )
    }
  }

  /**
   * Matches of rows that were added after a range was known. They have as many rows for each value as the rows before
   * them, and all of them match at most.
   */
  private def added(
      key: JoinKey,
      input: JoinInput,
      before: ClassFold,
      first: JoinInput,
      alongOthers: Double
  ): CommonRange = {
    val domain       = if (key.unseen > 0.0) key.domain else 1.0
    val domainBefore = if (before.unseen > 0.0) before.domain else 1.0
    val pairs        = math.max(key.unseen * domain / first.rows, before.unseen * domainBefore / input.rows)
    CommonRange(domain, domainBefore, math.min(1.0, pairs), alongOthers, beyond = pairs > 0.0)
  }
}
