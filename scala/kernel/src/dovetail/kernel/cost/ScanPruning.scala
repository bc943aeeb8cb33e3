package dovetail.kernel.cost

/**
 * Scans in a set of relations that a broadcast join can still prune: files of a partitioned table are not read where
 * the other side, which is there first, has no key of theirs (dynamic partition pruning). Only the first join by a
 * partition column prunes; those above find it done.
 *
 * @param bits       of the partition columns' keys, as partitioning masks
 * @param bytes      that pruning by each can save, in memory
 * @param partitions values of each
 */
final class ScanPruning(bits: Array[Long], bytes: Array[Double], partitions: Array[Double]) {

  /** Bytes that a join by `key` with at most so many keys does not read. */
  def saved(key: Long, keys: Double): Double = {
    var sum = 0.0
    var i   = 0
    while (i < bits.length) {
      if ((bits(i) & key) != 0L) sum += bytes(i) * math.max(0.0, 1.0 - keys / partitions(i))
      i += 1
    }
    sum
  }

  /** All of them. */
  def total: Double = bytes.sum
}

object ScanPruning { val none: ScanPruning = new ScanPruning(Array.empty, Array.empty, Array.empty) }
