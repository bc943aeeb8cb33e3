package dovetail.kernel.size

/**
 * Rows that an inner join should not exceed, counted along its joins. [[SetFold]] counts in its own order, largest
 * table first. If two relations that only a third one connects follow each other there, its count is the product of all
 * their rows. A join of a fact with two large dimensions would look too large to broadcast, whatever it returns.
 *
 * As in [[JoinBounds]], the count of any order is valid. The order starts with the relation of most rows and continues
 * with the relation that adds the fewest rows ([[JoinInput.cautiousRows]]). Not thread-safe.
 */
final private[size] class CautiousRows(classes: Int, inputs: Array[JoinInput]) extends JoinInput.Bound {

  // classes bound, those of them with a key that repeats, and relations taken so far, stamped with the round
  private val bound    = new Array[Int](classes)
  private val repeated = new Array[Int](classes)
  private val taken    = new Array[Int](inputs.length)
  private var round    = 0

  override def isBound(classIndex: Int): Boolean    = bound(classIndex) == round
  override def isRepeated(classIndex: Int): Boolean = repeated(classIndex) == round

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
          val with1 = inputs(set(i)).cautiousRows(rows, this)
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
    while (k < keys.length) {
      bound(keys(k).classIndex) = round
      if (!keys(k).unique) repeated(keys(k).classIndex) = round
      k += 1
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
