package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.{JoinTree, Outcome, Search}
import org.apache.spark.sql.dovetail.steer.OrderHint

/**
 * Which order a group gets that has run before: the best of those that have run, or the one that the search finds now.
 *
 * Knowing some sub-plans makes the unknown ones look cheap by comparison: an optimizer that learns flees from what it
 * knows to what it does not (Stillger, Lohman, Markl and Kandil, "LEO", VLDB 2001, section 6). So an order that has not
 * run is tried only where it promises a clear gain over the best that has, and only as long as each order that was
 * tried turned out better than those before it: a group changes to a slower order once at most. The best is the cheapest
 * of those whose joins return about the fewest rows, all of which are counted, unless the time that the query took says
 * otherwise.
 */
final class MeasuredOrders(ready: PreparedGroup, search: Search) {
  import MeasuredOrders._

  private val all: Vector[Measured] = for {
    order   <- ready.known.orders
    shape   <- OrderHint.numbered(order.shape, ready.known.order).toOption.toVector
    outcome <- search.priced(shape, ready.group.shape)
  } yield Measured(outcome, order.query, order.millis)

  /** The outcome to go by, and what to say about it. */
  def choose(found: Outcome): (Outcome, Option[String]) =
    if (all.isEmpty) (found, None)
    else {
      val fewest   = all.map(_.rows).min
      val few      = all.filter(_.rows <= fewest * MoreRows)
      val best     = few.filterNot(o => few.exists(_.clearlyFasterThan(o))).minBy(_.cost)
      val same     = all.find(_.outcome.best.shape.sameJoins(found.best.shape))
      val improves = best eq all.last
      def fewer    = 1.0 - rowsOf(found.best) / best.rows
      def cheaper  = 1.0 - found.best.cost.total / best.cost
      def promises = fewer >= 0.0 && cheaper >= 0.0 && math.max(fewer, cheaper) >= LeastGain
      if (same.exists(_ eq best)) (found, None)
      else if (same.isEmpty && improves && all.size < MostTried && promises)
        (found, Some("this order has not run yet: it promises to be better than those that have"))
      else (kept(best, found), Some("the best of the orders that have run"))
    }

  private def kept(best: Measured, found: Outcome): Outcome =
    found.copy(best = best.outcome.best)(() => Some(found.best))
}

private object MeasuredOrders {

  /** Share of the cost, or of the rows, that an order which has not run has to promise to save. */
  private val LeastGain = 0.1

  /** Orders of one group that are tried: nearly all groups have found their best one by then. */
  private val MostTried = 6

  /** Times that count as different: a tenth and half a second, which is what single runs differ by. */
  private val (slower, slowerMillis) = (1.1, 500L)

  /** Times the fewest rows out of all joins that the best order may have: rows are counted, costs are modelled. */
  private val MoreRows = 1.1

  private def rowsOf(tree: JoinTree): Double = tree.joins.map(_.rows.value).sum

  final private case class Measured(outcome: Outcome, query: String, millis: Long) {
    def cost: Double = outcome.best.cost.total
    val rows: Double = rowsOf(outcome.best)

    def clearlyFasterThan(that: Measured): Boolean = query.nonEmpty && query == that.query && millis > 0L &&
      that.millis > millis * slower && that.millis > millis + slowerMillis
  }
}
