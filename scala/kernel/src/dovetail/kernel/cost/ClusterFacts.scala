package dovetail.kernel.cost

/**
 * Facts that a cost depends on in addition to the data. Bytes are bytes in memory.
 *
 * @param executors       copies of a broadcast in addition to the driver's; none in local mode
 * @param broadcastBytes  largest size of a shuffled input that is broadcast while the query runs (adaptive execution);
 *                        0: never
 * @param preferSortMerge whether shuffled joins are planned as sort-merge joins (Spark's default) instead of shuffled
 *                        hash joins
 * @param staticBytes     largest estimated size of an input that is broadcast when the query is planned, if it cannot
 *                        take more than `staticMemory`; 0: never. The engine's own broadcasts happen in any case.
 * @param staticMemory    bytes of memory that such a broadcast may take however wrong its estimate is
 * @param hashTable       decides which inputs are hashed instead of sorted while the query runs
 * @param tasks           tasks that run at a time in the whole cluster; the task of a frequent key can take this many
 *                        times longer than tasks of even keys
 * @param splitBytes      size above which adaptive execution splits a partition into several tasks; infinite: never
 * @param sortMemory      memory that sorts have before they write to disk
 * @param prunesScans     whether scans of partitioned tables skip partitions for which a broadcast has no keys
 */
final case class ClusterFacts(
    executors: Int = 1,
    broadcastBytes: Double = 10.0 * 1024 * 1024,
    preferSortMerge: Boolean = true,
    staticBytes: Double = 0.0,
    staticMemory: Double = Double.PositiveInfinity,
    hashTable: HashTable = HashTable.none,
    tasks: Int = 1,
    splitBytes: Double = Double.PositiveInfinity,
    sortMemory: SortMemory = SortMemory.unlimited,
    prunesScans: Boolean = false
) {

  /**
   * Whether an input of so many bytes that cannot take more than `cautious` bytes of memory may be broadcast when the
   * query is planned.
   */
  def mayBroadcast(bytes: Double, cautious: Double): Boolean = bytes <= staticBytes && cautious <= memoryLimit

  /** Maximum bytes of memory that a broadcast of our choice may take. */
  def memoryLimit: Double = math.min(staticMemory, ClusterFacts.riskLimit(staticBytes))
}

object ClusterFacts {

  /**
   * Maximum bytes of memory that a broadcast may take if the estimate is wrong, for each byte of its limit. A row of a
   * few numbers takes four times its bytes in memory, so with Spark's 10 MiB this is 320 MiB of such rows: slow, but
   * far from Spark's limits (1 GiB of results on the driver, 8 GiB per broadcast), beyond which a query fails.
   */
  val RiskFactor = 128.0

  /**
   * Maximum bytes of memory of a broadcast whose estimate is wrong.
   *
   * @param threshold largest estimated bytes that may be broadcast
   */
  def riskLimit(threshold: Double): Double = threshold * RiskFactor
}
