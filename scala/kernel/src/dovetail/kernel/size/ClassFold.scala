package dovetail.kernel.size

import dovetail.kernel.profile.CumulativeShare

/**
 * State of one equivalence class while a set of relations is folded: the common properties of the members so far. One
 * object serves all folds. The round tells which fold the state belongs to, so nothing needs to be cleared.
 *
 * @param capacity number of relations in the class
 */
final private[size] class ClassFold(capacity: Int) {
  private[this] val relations    = new Array[Int](capacity)
  private[this] var lastRound    = 0
  private[this] var members      = 0
  private[this] var least        = 1.0
  private[this] var lowest       = Double.NaN
  private[this] var highest      = Double.NaN
  private[this] var counted      = 1.0
  private[this] var firstNonNull = 1.0
  private[this] var repeated     = 0.0
  private[this] var added        = 0.0
  private[this] var several      = false
  private[this] var cut          = 1.0
  private[this] var ofFirst      = Option.empty[Double]
  private[this] var spread       = Option.empty[CumulativeShare]

  /** Whether the class has a member in this round. */
  def isOpen(round: Int): Boolean = lastRound == round

  /** Number of members. */
  def count: Int = members

  /** The relation of member `i`, from 0. */
  def relation(i: Int): Int = relations(i)

  /** The smallest domain of the members, within their common range. At least 1. */
  def domain: Double = least

  /** Ends of the members' common range; NaN if no member's end is known. */
  def low: Double  = lowest
  def high: Double = highest

  /** Share of the domain that counts, because other keys of the members' relations restrict the members. */
  def part: Double = counted

  /** Share of the first member's values that are not NULL. */
  def nonNullOfFirst: Double = firstNonNull

  /** Sum of the members' repetitions ([[JoinKey]]). */
  def repetition: Double = repeated

  /** Whether a member does not look unique. */
  def repeats: Boolean = several

  /** Rows of the first member's table in its range, if predicates have narrowed it. */
  def rangeRows: Option[Double] = ofFirst

  /** Least share of a member's table to which predicates have narrowed its range. */
  def narrowed: Double = cut

  /** Largest share of a member's rows that were added after its range was known. */
  def unseen: Double = added

  /**
   * Begins a round with the first member of the class.
   *
   * @param part share of the member's domain that counts
   */
  def open(round: Int, relation: Int, key: JoinKey, part: Double): Unit = {
    lastRound = round
    counted = part
    least = math.max(1.0, key.domain * part)
    lowest = key.low
    highest = key.high
    firstNonNull = key.nonNull
    repeated = 0.0
    added = 0.0
    several = false
    cut = 1.0
    ofFirst = key.rangeRows
    spread = None
    members = 0
    add(relation, key)
  }

  /** Adds a further member, which has the range `common` in common with the members before it. */
  def join(relation: Int, key: JoinKey, common: CommonRange): Unit = {
    counted *= common.alongOthers
    least = math.min(common.domainBefore, common.domain)
    // the ranges have nothing in common, and nobody knows where the added rows end
    if (common.beyond) { lowest = Double.NaN; highest = Double.NaN }
    if (!common.beyond || key.unseen == 0.0) {
      if (lowest.isNaN || key.low > lowest) lowest = key.low
      if (highest.isNaN || key.high < highest) highest = key.high
    }
    add(relation, key)
  }

  private def add(relation: Int, key: JoinKey): Unit = {
    repeated += key.repetition
    added = math.max(added, key.unseen)
    if (!key.unique) several = true
    cut = math.min(cut, key.rangeShare)
    if (spread.isEmpty) spread = key.shares
    relations(members) = relation
    members += 1
  }

  /** Whether the relation is a member. */
  def holds(relation: Int): Boolean = {
    var i = 0
    while (i < members && relations(i) != relation) i += 1
    i < members
  }

  /** Share of a key's domain that lies in the common range of the members. */
  def partOf(key: JoinKey): Double =
    EqualityShare.ofRange(lowest, highest, key.low, key.high, key.domain, key.shares)

  /** Share of the members' domain that lies in the range of a key. */
  def partIn(key: JoinKey): Double = EqualityShare.ofRange(key.low, key.high, lowest, highest, least, spread)
}
