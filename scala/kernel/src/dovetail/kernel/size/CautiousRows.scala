package dovetail.kernel.size

/**
 * Rows that an inner join should not exceed, counted along its joins. [[SetFold]] counts in its own order, largest
 * table first. If two relations that only a third one connects follow each other there, its count is the product of all
 * their rows. A join of a fact with two large dimensions then looked too large to broadcast, whatever it returned.
 *
 * As in [[JoinBounds]], the count of any order is valid. The order starts with the relation of most rows and continues
 * with the relation that adds the fewest rows. A relation with a key that looks unique adds no rows. Any other relation
 * multiplies the rows by the average rows of its keys, and the result is at least all its rows: if few rows meet many,
 * all of the many rows may belong to these few. Not thread-safe.
 */
final private[size] class CautiousRows(classes: Int, inputs: Array[JoinInput]) {

  // classes bound and relations taken so far, stamped with the round
  private val bound = new Array[Int](classes)
  private val taken = new Array[Int](inputs.length)
  private var round = 0

  /** @param set relations, of which the first `count` are joined; their order breaks ties */
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
   * Largest number of relations of a set for which this is counted. Each step looks at each relation, and very large
   * graphs have thousands of sets to size. The result of more relations is rarely broadcast.
   */
  val MostRelations = 32
}
