package dovetail.kernel.cost

/**
 * Constants of the physical cost model. Unit: nanoseconds of one core. Only their ratios decide which plan wins.
 *
 * Recipe, to measure them again (benchmarks/README.md, `calibrate`): on a quiet machine run, with `local[1]` and after warm-up, (1) a broadcast hash join
 * of N rows with and without an output row per input row, (2) the same join as sort merge, from exchanges already materialized, (3) a bare
 * `repartition` of rows of 16 and of 256 bytes; each constant is the slope of the time over N.
 */
final case class CostConstants(
    /** One row out of a join: copied into a new row and handed on inside generated code. */
    rowProduced: Double = 30.0,
    /** One row looked up in a hash table that fits into the cache's vicinity. */
    hashProbe: Double = 40.0,
    /** One row put into a hash table (hashed relation of a broadcast or of a partition). */
    hashBuild: Double = 150.0,
    /** One row through a sort, per doubling of the rows (n log2 n): a prefix comparison in an array of pointers. */
    sortCompare: Double = 10.0,
    /** One row through the merge of a sort-merge join. */
    merge: Double = 50.0,
    /** One row through an exchange: hashed, serialized, written, read. */
    exchangeRow: Double = 200.0,
    /** One byte through an exchange: compressed, on disk, over the network, decompressed. */
    exchangeByte: Double = 3.0,
    /** One byte of a broadcast relation, per copy (driver and each executor): collected, serialized, sent in blocks, built. */
    broadcastByte: Double = 10.0,
    /** One pair compared in a nested loop join. */
    nestedLoopPair: Double = 10.0
)

/**
 * What a cost depends on besides the data.
 *
 * @param executors           copies of a broadcast besides the driver's
 * @param broadcastBytes      inputs estimated at most this large are turned into a broadcast while the query runs (adaptive execution); 0 never
 * @param preferSortMerge     shuffled joins are sort-merge joins (Spark's default) rather than shuffled hash joins
 */
final case class ClusterFacts(executors: Int = 1, broadcastBytes: Double = 10.0 * 1024 * 1024, preferSortMerge: Boolean = true)
