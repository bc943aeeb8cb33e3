package dovetail.kernel.cost

/**
 * Constants of the physical cost model. Unit: nanoseconds of one core. Only their ratios decide which plan wins.
 *
 * Recipe to measure them again (benchmarks/README.md, `calibrate`): on a quiet machine, with `local[1]` and after
 * warm-up, run (1) a broadcast hash join of N rows with and without an output row per input row, (2) the same join as
 * sort merge, from exchanges already materialized, (3) a bare `repartition` of rows of 16 and of 256 bytes, (4) a sort
 * with and without the memory for it. Each constant is the slope of the time over N.
 *
 * Some defaults are weak:
 *
 *  - The recipe has no separate step for `hashBuild`, `broadcastByte`, `nestedLoopPair` and `scanByte`. These are
 *    assumptions.
 *  - The recipe runs on one machine with one core, where no byte crosses a network. In a cluster, `exchangeByte` and
 *    `broadcastByte` depend on its network.
 *  - `hashProbe` holds for tables that more or less fit into the CPU cache. A larger table takes longer, and the model
 *    does not say how much.
 *  - `DOVETAIL CALIBRATE` measures seven constants on the current cluster. The other four (`broadcastByte`,
 *    `nestedLoopPair`, `scanByte`, `spillByte`) keep their ratio to these, so they are as good as the defaults.
 */
final case class CostConstants(
    /** One output row of a join: copied into a new row and passed on inside generated code. */
    rowProduced: Double = 120.0,
    /** One row looked up in a hash table that more or less fits into the CPU cache. */
    hashProbe: Double = 60.0,
    /** One row put into a hash table (hashed relation of a broadcast or of a partition). */
    hashBuild: Double = 80.0,
    /** One row through a sort, per doubling of the rows (n log2 n): a prefix comparison in an array of pointers. */
    sortCompare: Double = 10.0,
    /** One row through the merge of a sort-merge join. */
    merge: Double = 50.0,
    /** One row through an exchange: hashed, serialized, written, read. */
    exchangeRow: Double = 300.0,
    /** One byte through an exchange: compressed, on disk, over the network, decompressed. */
    exchangeByte: Double = 4.0,
    /**
     * One byte of a broadcast relation, per copy (driver and each executor): collected, serialized, sent in blocks,
     * built.
     */
    broadcastByte: Double = 2.0,
    /** One pair compared in a nested loop join. */
    nestedLoopPair: Double = 10.0,
    /** One byte of the rows that a scan of a columnar file produces: read, decompressed, decoded. */
    scanByte: Double = 2.0,
    /** One byte of a sort that does not fit into a task's memory: written to the local disk, read again, merged. */
    spillByte: Double = 3.0
) {

  /** Cost of an exchange of so many rows, which take so many bytes together. */
  def exchange(rows: Double, bytes: Double): Double = rows * exchangeRow + bytes * exchangeByte

  /**
   * Cost of broadcasting an input to the driver and to `executors` executors: each builds a hash table of its rows, and
   * its bytes are sent to each.
   */
  def broadcast(rows: Double, bytes: Double, executors: Int): Double =
    (rows * hashBuild + bytes * broadcastByte) * (1.0 + executors)
}
