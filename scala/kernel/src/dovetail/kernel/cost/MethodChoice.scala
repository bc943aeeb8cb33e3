package dovetail.kernel.cost

import scala.collection.mutable

/**
 * What a cost model had to choose from when it settled how one join of a plan is executed: for reports, made when
 * somebody asks.
 *
 * There are no formulas here: the model is asked once more, for the same inputs, and all that it offers is written
 * down. The search itself keeps only what may win.
 *
 * @param ways the ways of executing the join, in the order in which the model offers them, each at its cheapest
 */
final case class MethodChoice(left: MethodChoice.Input, right: MethodChoice.Input, ways: Vector[MethodChoice.Way]) {

  /** The cheapest way that is not `chosen`. */
  def runnerUp(chosen: JoinMethod): Option[MethodChoice.Way] = ways.filter(_.method != chosen).sortBy(_.cost).headOption

  /** The same with its sides swapped. */
  def flipped: MethodChoice = MethodChoice(right, left, ways.map(w => w.copy(method = w.method.flipped)))
}

object MethodChoice {

  /**
   * One side of the join.
   *
   * @param broadcast   the engine broadcasts it by its own rule
   * @param cautious    bytes of memory that a broadcast of it should not exceed, however wrong its estimate is
   * @param partitioned its rows are where the join needs them: no exchange
   */
  final case class Input(bytes: Double, cautious: Double, broadcast: Boolean, partitioned: Boolean)

  /** @param cost of the join by itself, its inputs as the plan has them */
  final case class Way(method: JoinMethod, cost: Double)

  /**
   * Of alternative `i` of a plan.
   *
   * @param keys what the sides are hashed by in a shuffled join, as partitioning masks
   * @param ask  has the cost model offer its ways of joining the first two to the third
   */
  def apply(plan: SubPlan, i: Int, keys: (Long, Long))(ask: (SubPlan, SubPlan, SubPlan) => Unit): MethodChoice = {
    val (left, right) = (plan.left(i).only(plan.leftAlternative(i)), plan.right(i).only(plan.rightAlternative(i)))
    val offers        = new Offers(plan)
    ask(left, right, offers)
    def input(side: SubPlan, key: Long) =
      Input(side.bytes, side.cautious, side.broadcast, key != 0L && side.partitioning(0) == key)
    MethodChoice(input(left, keys._1), input(right, keys._2), offers.cheapest)
  }

  /** Keeps what it is offered, whatever it costs. */
  final private class Offers(of: SubPlan) extends SubPlan(of) {
    private val ways = mutable.LinkedHashMap.empty[JoinMethod, Double]

    override def offer(
        cost: Double,
        partitioning: Long,
        method: JoinMethod,
        l: SubPlan,
        la: Int,
        r: SubPlan,
        ra: Int,
        repartition: Double
    ): Unit =
      if (ways.get(method).forall(cost < _)) ways(method) = cost

    def cheapest: Vector[Way] = ways.toVector.map { case (method, cost) => Way(method, cost) }
  }
}
