package dovetail.kernel.cost

import dovetail.kernel.graph.Clustering

/**
 * Work of a grouping that is done in part below joins (Yan and Larson, "Eager aggregation and lazy aggregation", VLDB
 * 1995), and of the operators between it and the final grouping. In the constants of the physical model.
 *
 * The rows that reach an operator above are reduced in proportion, because each group has the partners that each of its
 * rows had.
 *
 * @param rows       input rows of the early grouping
 * @param groups     maximum number of its output groups
 * @param groupBytes bytes of one group
 * @param above      nanoseconds that all operators above take, from the early grouping to the final one
 * @param parts      tasks that read the rows
 * @param cores      cores that wait for one more stage
 */
final case class EarlyGrouping(
    rows: Double,
    groups: Double,
    groupBytes: Double,
    above: Double,
    parts: Double,
    cores: Int
) {
  import EarlyGrouping._

  /** Nanoseconds that are saved; negative if the early grouping costs more than it saves. */
  def saving(constants: CostConstants): Double = {
    import constants._
    val grouping = rows * hashBuild + exchanged * (exchangeRow + groupBytes * exchangeByte + hashBuild)
    above * (1.0 - math.min(1.0, groups / math.max(rows, 1.0))) - grouping - cores * StageNanos
  }

  /** The saving as a share of the work above. */
  def gain(constants: CostConstants): Double = saving(constants) / math.max(above, Double.MinPositiveValue)

  /** Groups that reach the exchange. Each task groups its own rows first. */
  def exchanged: Double = Clustering.exchanged(rows, groups, parts)
}

object EarlyGrouping {

  /**
   * Work of a join above, as far as it depends on the rows of the grouped side. If these rows are not exchanged,
   * generated code passes them on from lookup to lookup up to the next grouping and creates no rows. It creates no rows
   * for the copies of grouping sets either.
   *
   * @param in    rows of the grouped side
   * @param bytes bytes of all these rows
   * @param out   output rows of the join
   * @param stay  whether these rows are not exchanged, because the other side is broadcast
   */
  def joined(constants: CostConstants, in: Double, bytes: Double, out: Double, stay: Boolean): Double = {
    import constants._
    val halvings = SubPlan.halvings(in)
    if (stay) in * hashProbe
    else in * (exchangeRow + sortCompare * halvings + merge) + bytes * exchangeByte + out * rowProduced
  }

  /** Work of the final grouping, as far as it depends on its rows. If grouping sets copy rows, all copies count. */
  def grouped(constants: CostConstants, in: Double): Double = in * constants.hashBuild

  /** Time that one more stage takes, however little it does: scheduling, and its slowest task. */
  private val StageNanos = 50e6
}
