package dovetail.kernel.size

/**
 * Probabilities that a table has a row with a key, among the rows that predicates keep, if its sample has none.
 *
 * @param kept   rows that the predicates keep
 * @param drawn  rows drawn
 * @param asked  keys asked for
 * @param beyond kept rows of the table per key outside the range of the kept keys
 */
final private[size] class HiddenKeys(
    kept: KeyGroups.Counts,
    drawn: KeyGroups.Counts,
    asked: KeyMessage.Partners,
    more: UndrawnRows,
    beyond: Double
) {
  private val share   = keptShare
  private val unseen  = more.some(0.0, share)
  private val outside = math.min(unseen, beyond)

  // by the number of rows drawn with the key; below 0 if not computed yet
  private val dropped = Array.fill(drawn.largest.toInt + 1)(-1.0)

  /** @param group group without kept rows, or [[KeyGroups.Outside]], or a number from [[KeyGroups.Unseen]] downwards */
  def chance(group: Int): Double =
    if (group <= KeyGroups.Unseen) unseen
    else if (group == KeyGroups.Outside) outside
    else {
      val n = drawn.sizes(group)
      if (dropped(n) < 0.0)
        dropped(n) = more.some(n.toDouble, share * KeyMessage.PriorRows / (n + KeyMessage.PriorRows))
      dropped(n)
    }

  /** Share of the rows that the predicates keep: of the keys asked for, mixed with that of all keys. */
  private def keptShare: Double = {
    val groups              = asked.groups
    val all                 = kept.rows / drawn.rows
    var (rows, found, some) = (0.0, 0.0, 0.0)
    var i                   = 0
    while (i < groups.length) {
      val g = groups(i)
      if (g >= 0) {
        rows += 1.0
        if (kept.sizes(g) > 0) { found += kept.sizes(g).toDouble / drawn.sizes(g); some += 1.0 }
      }
      i += 1
    }
    if (rows == 0.0) all
    else KeyMessage.mixed(found / rows, asked.keys, all, math.max(kept.filled.toDouble / drawn.filled, some / rows))
  }
}
