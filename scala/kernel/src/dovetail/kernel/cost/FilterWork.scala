package dovetail.kernel.cost

/**
 * Work of a Bloom filter that removes rows of one input by the keys of other inputs (Bloom, CACM 1970; Mackert and
 * Lohman, "R* optimizer validation and performance evaluation for distributed queries", VLDB 1986). The other inputs
 * are read a second time, their keys are put into the filter, and each row of the reduced input is looked up in it.
 *
 * @param probed     rows that are looked up in the filter
 * @param read       bytes of the tables that are read for the filter, before their predicates
 * @param broadcasts rows and bytes of the small inputs that restrict the keys, each a broadcast
 * @param joined     rows that are looked up in these broadcasts
 * @param keys       rows that are put into the filter
 * @param bytes      bytes of the filter
 * @param tasks      tasks that read the first input. Each makes a filter of the same size, and one task merges them
 *                   while all cores wait.
 * @param parts      parts of the first input's files that one task reads whole (row groups); infinite if they are not
 *                   known. Spark splits files by bytes, so a task may have none of them, and no rows.
 */
final case class FilterWork(
    probed: Double,
    read: Double,
    broadcasts: Vector[(Double, Double)],
    joined: Double,
    keys: Double,
    bytes: Double,
    tasks: Double,
    parts: Double = Double.PositiveInfinity
) {

  /** Bytes of the filters that are merged. */
  def merged: Double = bytes * tasks

  /** Cost in the unit of the constants. */
  def cost(constants: CostConstants, facts: ClusterFacts): Double = {
    import constants._
    val made = read * scanByte + joined * broadcasts.size * hashProbe + keys * (rowProduced + hashBuild)
    val sent = broadcasts.map { case (r, b) => broadcast(r, b, facts.executors) }.sum +
      merged * exchangeByte * facts.tasks + bytes * broadcastByte * (1.0 + facts.executors)
    probed * hashProbe + made * waiting(facts) + sent + FilterWork.Latency * facts.tasks
  }

  /** Cores that wait for each one that makes the filter, itself included: only tasks that have rows work on it. */
  private def waiting(facts: ClusterFacts): Double =
    math.max(1.0, facts.tasks / math.max(1.0, math.min(tasks, parts)))
}

object FilterWork {

  /** A filter without any rows. It still makes the input wait. */
  val none: FilterWork = FilterWork(0.0, 0.0, Vector.empty, 0.0, 0.0, 0.0, 1.0)

  /**
   * Nanoseconds that the input waits for its filter. Spark starts, runs and collects a job of two stages in about this
   * time, however few rows there are. All cores wait.
   */
  val Latency = 1.5e8
}
