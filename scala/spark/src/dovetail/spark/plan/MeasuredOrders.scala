package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.{CostConstants, JoinMethod}
import dovetail.kernel.enumerate.{JoinTree, Outcome, Search}
import org.apache.spark.sql.dovetail.history.MeasuredOrder
import org.apache.spark.sql.dovetail.report.Decision
import org.apache.spark.sql.dovetail.steer.OrderHint

/**
 * Chooses the order of a group that has run before: the best of the orders that have run, or the one that the search
 * finds now.
 *
 * If some sub-plans are known, the unknown ones look cheap by comparison: an optimizer that learns moves away from what
 * it knows to what it does not know (Stillger, Lohman, Markl and Kandil, "LEO", VLDB 2001, section 6). So an order that
 * has not run is tried only if it promises a clear gain over the best one that has, and only as long as each order that
 * was tried turned out better than those before it. So a group changes to a slower order at most once. An order whose
 * run failed or was cancelled is never the best, and ends the trials.
 *
 * If no order has run to its end, and another one than the written order was out of memory, the written order is used:
 * it needs what plain Spark needs.
 */
final class MeasuredOrders(ready: PreparedGroup, search: Search) {
  import MeasuredOrders._

  private val all: Vector[OrderRun] = for {
    order   <- ready.known.orders
    shape   <- OrderHint.numbered(order.shape, ready.known.order).toOption.toVector
    outcome <- search.priced(shape, ready.group.shape)
  } yield OrderRun(order, rowsOf(outcome.best), outcome.best.cost.total)(outcome)

  private val ran = all.filter(_.order.finished)

  /** The plan to use: the best one that has run, unless the search has found one that promises more. */
  def choose(found: Outcome): Choice =
    if (ran.isEmpty) {
      val original    = found.original.shape
      val asWritten   = all.nonEmpty && !all.exists(_.outcome.best.shape.sameJoins(original))
      val (plan, why) = if (asWritten) (found.asWritten, Some(OutOfMemory)) else (found, None)
      Choice(plan, hasRun = false, proven = false, why)
    } else {
      val chosen   = best(ran)
      val same     = all.find(_.outcome.best.shape.sameJoins(found.best.shape))
      val improves = (chosen eq all.last) && ran.size == all.size
      def fewer    = 1.0 - rowsOf(found.best) / chosen.rows
      def cheaper  = 1.0 - found.best.cost.total / chosen.cost
      def promises = fewer >= 0.0 && cheaper >= 0.0 && math.max(fewer, cheaper) >= LeastGain
      if (same.exists(_ eq chosen)) Choice(found, hasRun = true, isProven(chosen, found), None)
      else if (same.isEmpty && improves && all.size < MostTried && promises) Choice(
        found,
        hasRun = false,
        proven = false,
        Some("a new order is tried, because its estimated cost is lower than that of the orders that have run")
      )
      else {
        val outcome = kept(chosen, found)
        Choice(outcome, hasRun = true, isProven(chosen, outcome), Some("the best of the orders that have run"))
      }
    }

  /** Whether the order costs less than the written one, or was clearly faster. */
  private def isProven(order: OrderRun, outcome: Outcome): Boolean = Decision.gain(outcome) > 0.0 ||
    ran.exists(o => o.outcome.best.shape.sameJoins(outcome.original.shape) && order.clearlyFasterThan(o))

  private def kept(order: OrderRun, found: Outcome): Outcome =
    found.copy(best = order.outcome.best)(() => Some(found.best))
}

private[dovetail] object MeasuredOrders {

  /**
   * @param hasRun whether the order is the best one that has run
   * @param proven whether it has also shown that it is better than the written one, by its counted rows or its time, so
   *               that it need not promise a certain gain
   * @param note   for explain
   */
  final case class Choice(outcome: Outcome, hasRun: Boolean, proven: Boolean, note: Option[String])

  /** Share of the cost, or of the rows, that an order must promise to save if it has not run yet. */
  private val LeastGain = 0.1

  /** Most orders that are tried for one group: nearly all groups have found their best order by then. */
  private val MostTried = 6

  /** Factor by which run times must differ, because single runs differ by as much. */
  private val Slower = 1.1

  /** Milliseconds by which run times must differ, too. */
  private val SlowerMillis = 500L

  /**
   * Factor by which the best order may return more rows from its joins than the order with the fewest. The rows are
   * counted, but the costs by which the best is chosen are modeled.
   */
  private val MoreRows = 1.1

  private val OutOfMemory = "the written order is used, because another one ran out of memory"

  /**
   * Joined rows that cost as much as one pair of a nested loop, by the default constants: cost constants of a cluster
   * keep about this ratio.
   */
  private val RowsOfPair = {
    val constants = CostConstants()
    constants.nestedLoopPair / constants.rowProduced
  }

  /** Rows out of the joins of a plan, and the pairs of its nested loops as so many rows as cost as much. */
  def rowsOf(tree: JoinTree): Double = tree.joins.map { j =>
    val pairs = if (j.method == JoinMethod.NestedLoop) j.left.rows.value * j.right.rows.value else 0.0
    j.rows.value + pairs * RowsOfPair
  }.sum

  /**
   * The best of the orders that have run: the cheapest of those whose joins return about the fewest rows, all of which
   * are counted ([[rowsOf]]). An order with which the same queries were clearly slower than with another one is out,
   * however few its rows are. If each order is slower than another one, by the times of different queries, times decide
   * nothing.
   */
  def best(ran: Vector[OrderRun]): OrderRun = {
    val fast = ran.filterNot(o => ran.exists(_.clearlyFasterThan(o)))
    val good = if (fast.isEmpty) ran else fast
    val few  = good.map(_.rows).min * MoreRows
    good.filter(_.rows <= few).minBy(_.cost)
  }

  /**
   * A run of an order.
   *
   * @param rows    rows out of its joins and pairs of its nested loops ([[rowsOf]])
   * @param cost    modeled cost, with the rows that are known now
   * @param outcome its plan
   */
  final case class OrderRun(order: MeasuredOrder, rows: Double, cost: Double)(val outcome: Outcome) {

    /** Run times decide only for the same queries. */
    def clearlyFasterThan(that: OrderRun): Boolean = {
      val (mine, theirs) = order.compared(that.order)
      mine > 0L && theirs > mine * Slower && theirs > mine + SlowerMillis
    }
  }
}
