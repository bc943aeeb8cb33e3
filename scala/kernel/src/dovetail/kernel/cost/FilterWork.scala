package dovetail.kernel.cost

/**
 * Work of a Bloom filter that keeps rows of one input away by the keys of other inputs (Bloom, CACM 1970; Mackert and
 * Lohman, "R* optimizer validation and performance evaluation for distributed queries", VLDB 1986): the other inputs
 * are read a second time, their keys go into bits, and each row of the reduced input is looked up.
 *
 * @param probed     rows that are looked up
 * @param read       bytes of the tables that are read for it, before their predicates
 * @param broadcasts small inputs that restrict the keys, each a broadcast: its rows and bytes
 * @param joined     rows that these are looked up for
 * @param keys       rows that are put into the filter
 * @param bytes      of the filter
 */
final case class FilterWork(
    probed: Double,
    read: Double,
    broadcasts: Vector[(Double, Double)],
    joined: Double,
    keys: Double,
    bytes: Double
) {

  /** In the unit of the constants. */
  def cost(constants: CostConstants, facts: ClusterFacts): Double = {
    import constants._
    val made = read * scanByte + broadcasts.map { case (r, b) => broadcast(r, b, facts.executors) }.sum +
      joined * broadcasts.size * hashProbe + keys * (rowProduced + hashBuild)
    val sent = bytes * (exchangeByte * facts.tasks + broadcastByte * (1.0 + facts.executors))
    probed * hashProbe + made + sent + FilterWork.Latency * facts.tasks
  }
}

object FilterWork {

  /**
   * Nanoseconds that the input waits for its filter: a job of two stages, which Spark starts, runs and collects in
   * about this time however few rows there are. All cores wait.
   */
  val Latency = 1.5e8
}
