package dovetail.kernel.cost

/**
 * Scans in a set of relations that a broadcast join can still prune. Spark does not read the files of a partitioned
 * table for which the other side, which is computed first, has no key (dynamic partition pruning). Only the first join
 * by a partition column prunes; joins above it find the scan already pruned.
 *
 * @param bits       keys of the partition columns, as partitioning masks
 * @param bytes      bytes in memory that pruning by each key can save
 * @param partitions number of values of each key
 */
final class ScanPruning(bits: Array[Long], bytes: Array[Double], partitions: Array[Double]) {

  /** Bytes that a join by `key` with at most `keys` keys does not read. */
  def saved(key: Long, keys: Double): Double = {
    var sum = 0.0
    var i   = 0
    while (i < bits.length) {
      if ((bits(i) & key) != 0L) sum += bytes(i) * math.max(0.0, 1.0 - keys / partitions(i))
      i += 1
    }
    sum
  }

  /** Bytes of all scans. */
  def total: Double = bytes.sum
}

object ScanPruning { val none: ScanPruning = new ScanPruning(Array.empty, Array.empty, Array.empty) }
