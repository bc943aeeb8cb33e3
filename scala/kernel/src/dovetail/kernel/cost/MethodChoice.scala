package dovetail.kernel.cost

import scala.collection.mutable

/**
 * The ways of executing one join of a plan that a cost model could choose from. For reports, and computed only on
 * request.
 *
 * There are no formulas here: it asks the model once more for the same inputs and records all offers. The search itself
 * keeps only offers that may win.
 *
 * @param ways ways of executing the join, in the order in which the model offers them, each at its lowest cost
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
   * @param broadcast   whether the engine broadcasts it by its own rule
   * @param cautious    bytes of memory that a broadcast of it should not exceed, however wrong its estimate is
   * @param partitioned whether its rows are partitioned as the join needs them, so that it needs no exchange
   */
  final case class Input(bytes: Double, cautious: Double, broadcast: Boolean, partitioned: Boolean)

  /** @param cost cost of the join by itself, with its inputs as the plan has them */
  final case class Way(method: JoinMethod, cost: Double)

  /**
   * The choice for alternative `i` of a plan.
   *
   * @param keys keys by which a shuffled join hashes the two sides, as partitioning masks
   * @param ask  makes the cost model offer its ways of joining the first two sub-plans to the third
   */
  def apply(plan: SubPlan, i: Int, keys: (Long, Long))(ask: (SubPlan, SubPlan, SubPlan) => Unit): MethodChoice = {
    val (left, right) = (plan.left(i).only(plan.leftAlternative(i)), plan.right(i).only(plan.rightAlternative(i)))
    val offers        = new Offers(plan)
    ask(left, right, offers)
    def input(side: SubPlan, key: Long) =
      Input(side.bytes, side.cautious, side.broadcast, key != 0L && side.partitioning(0) == key)
    MethodChoice(input(left, keys._1), input(right, keys._2), offers.cheapest)
  }

  /** Records every method that it is offered, whatever it costs. */
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
