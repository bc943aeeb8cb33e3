package dovetail.kernel.cost

/**
 * Work of a grouping that is done in part below joins (Yan and Larson, "Eager aggregation and lazy aggregation", VLDB
 * 1995), and of the operators between it and the grouping that was asked for. In the constants of the physical model.
 *
 * The rows that reach an operator above fall in proportion: each group has the partners that each of its rows had.
 *
 * @param rows       into the early grouping
 * @param groups     out of it, at most
 * @param groupBytes of one group
 * @param above      nanoseconds that all operators above take, from the early grouping to the final one
 * @param parts      tasks that read the rows
 * @param cores      that wait for one more stage
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

  /** Nanoseconds that are saved; below 0 where the early grouping takes more than it saves. */
  def saving(constants: CostConstants): Double = {
    import constants._
    val grouping = rows * hashBuild + exchanged * (exchangeRow + groupBytes * exchangeByte + hashBuild)
    above * (1.0 - math.min(1.0, groups / math.max(rows, 1.0))) - grouping - cores * StageNanos
  }

  /** The same as a share of the work above. */
  def gain(constants: CostConstants): Double = saving(constants) / math.max(above, Double.MinPositiveValue)

  /**
   * Groups that reach the exchange: each task groups its own rows first, and meets a group about as often as if the rows
   * were dealt out at random.
   */
  def exchanged: Double = {
    val tasks   = math.max(parts, 1.0)
    val perTask = groups * -math.expm1(-rows / tasks / math.max(groups, 1.0))
    math.min(rows, tasks * perTask)
  }
}

object EarlyGrouping {

  /**
   * Work of a join above, as far as it goes by the rows on the grouped side. Where these stay where they are, generated
   * code hands them on from look-up to look-up, up to the next grouping, and makes no rows of them; nor of the copies of
   * grouping sets.
   *
   * @param in    these rows
   * @param bytes of all of them
   * @param out   rows out of the join
   * @param stay  the rows do: the other side is broadcast
   */
  def joined(constants: CostConstants, in: Double, bytes: Double, out: Double, stay: Boolean): Double = {
    import constants._
    val halvings = math.log(math.max(in, 2.0)) / math.log(2.0)
    if (stay) in * hashProbe
    else in * (exchangeRow + sortCompare * halvings + merge) + bytes * exchangeByte + out * rowProduced
  }

  /** Work of the final grouping, as far as it goes by rows: those of all copies, where grouping sets copy them. */
  def grouped(constants: CostConstants, in: Double): Double = in * constants.hashBuild

  /** Time that one more stage takes, however little it does: scheduling, and the slowest of its tasks. */
  private val StageNanos = 50e6
}
