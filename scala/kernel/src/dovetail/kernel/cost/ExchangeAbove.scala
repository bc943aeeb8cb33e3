package dovetail.kernel.cost

/**
 * The exchange between the joins of all relations and the operator that reads their rows
 * ([[dovetail.kernel.graph.Clustering]]). Part of the cost of every plan that does not make it unnecessary.
 *
 * @param keys  join keys among the operator's clustering columns, as a partitioning mask
 * @param nanos nanoseconds that the exchange takes
 */
final case class ExchangeAbove(keys: Long, nanos: Double) {

  /** What a plan whose rows have this partitioning pays for the exchange. */
  def cost(partitioning: Long): Double =
    if (partitioning != SubPlan.Unpartitioned && (partitioning & ~keys) == 0L) 0.0 else nanos
}

object ExchangeAbove {

  /** No plan can save anything: nothing above clusters the rows, or no join key is among its columns. */
  val none: ExchangeAbove = ExchangeAbove(0L, 0.0)
}
