package dovetail.kernel.size

/**
 * Rows that an inner join should not exceed, counted along its joins: what [[SetFold]] has in its own order, largest
 * table first, is a product of all rows where two relations follow each other that only a third one connects. That made
 * a join of a fact with two large dimensions look too large to broadcast, whatever it returned.
 *
 * As in [[JoinBounds]], any order gives a number that counts; it starts with the relation of most rows and goes on with
 * the one that adds fewest. A key that looks unique adds no rows. Any other relation has the average rows of its keys
 * per row before it, and no less than all its rows in all: where few rows meet many, these may be the ones that all of
 * them belong to. Not thread-safe.
 */
final private[size] class CautiousRows(classes: Int, inputs: Array[JoinInput]) {

  // classes that the relations so far have bound, and relations taken, by the round that did so
  private val bound = new Array[Int](classes)
  private val taken = new Array[Int](inputs.length)
  private var round = 0

  /** @param set relations, of which the first `count` are joined, in an order that breaks ties */
  def apply(set: Array[Int], count: Int): Double = {
    round += 1
    var next = set(0)
    var i    = 1
    while (i < count) { if (inputs(set(i)).mostRows > inputs(next).mostRows) next = set(i); i += 1 }
    var rows = inputs(next).mostRows
    var left = count - 1
    take(next)
    while (left > 0) {
      var least = Double.PositiveInfinity
      i = 0
      while (i < count) {
        if (taken(set(i)) != round) {
          val with1 = joined(rows, inputs(set(i)))
          if (with1 < least) { least = with1; next = set(i) }
        }
        i += 1
      }
      rows = least
      take(next)
      left -= 1
    }
    rows
  }

  private def take(relation: Int): Unit = {
    taken(relation) = round
    val keys = inputs(relation).keys
    var k    = 0
    while (k < keys.length) { bound(keys(k).classIndex) = round; k += 1 }
  }

  private def joined(before: Double, input: JoinInput): Double = {
    val keys   = input.keys
    var unique = false
    var domain = 0.0
    var k      = 0
    while (k < keys.length) {
      val key = keys(k)
      if (bound(key.classIndex) == round) {
        if (key.unique) unique = true else if (key.known) domain = math.max(domain, key.domain)
      }
      k += 1
    }
    if (unique) before
    else {
      val partners = EqualityShare.partners(input.mostRows, input.tableRows, domain)
      math.max(EqualityShare.cautiousRows(before, partners), input.mostRows)
    }
  }
}

private[size] object CautiousRows {

  /**
   * Relations of a set for which it is asked: it looks at each relation in each step, and the sets of very large graphs
   * are sized by the thousand. What more relations return is rarely broadcast.
   */
  val MostRelations = 32
}
