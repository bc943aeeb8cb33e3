package dovetail.kernel.cost

/**
 * Work of a filter that keeps the rows of a scan between the smallest and the largest key of another input
 * (`enumerate.KeyRange`). The scan skips row groups outside of this range. The other input is read twice more, for one
 * end each by a single task, and the scan waits for both.
 *
 * @param skipped rows of the row groups that the scan skips
 * @param width   average bytes of a row in memory
 * @param read    bytes of the tables that are read for the keys, before their predicates
 */
final case class RangeWork(skipped: Double, width: Double, read: Double) {

  /** Whether the filter saves twice what it costs, in the unit of the constants. */
  def pays(constants: CostConstants, facts: ClusterFacts): Boolean = {
    import constants._
    // the rows would also be looked up in the first hash table, or be hashed for an exchange
    val saved = skipped * (width * scanByte + hashProbe)
    val waits = math.max(RangeWork.Ends, facts.tasks.toDouble)
    saved >= RangeWork.LeastRatio * (waits * read * scanByte + FilterWork.Latency * facts.tasks)
  }
}

object RangeWork {

  /** Number of ends of a range: a reader of files compares with single values only, so each is a subquery. */
  private val Ends = 2.0

  /** As for Bloom filters: all cores wait, which the costs do not show. */
  private val LeastRatio = 2.0
}
