package dovetail.kernel.cost

/**
 * Constants of the physical cost model. Unit: nanoseconds of one core. Only their ratios decide which plan wins.
 *
 * `benchmarks/dovetail_bench/calibrate.py` measures them on plain Spark with `local[1]`: each constant is the
 * difference between the times of two small queries that differ in one operator or in their size, per row or byte.
 *
 * Some defaults are weak:
 *
 *  - `scanByte` is an assumption: calibrate has no step for it.
 *  - Calibrate sees narrow rows in warm, generated code. In its report of 2026-11-28, `hashProbe` is a sixth of the
 *    default, `rowProduced` a fortieth, and `hashBuild` six times the default. Which of them predict the time of whole
 *    queries better has not been compared.
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
