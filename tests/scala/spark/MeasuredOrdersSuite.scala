package org.apache.spark.sql.dovetail

import dovetail.kernel.cost.{Cost, JoinMethod}
import dovetail.kernel.enumerate.JoinTree
import dovetail.kernel.profile.{Estimate, Source}
import org.apache.spark.sql.dovetail.history.MeasuredOrder
import org.apache.spark.sql.dovetail.history.MeasuredOrder.QueryTime
import org.apache.spark.sql.dovetail.plan.MeasuredOrders
import org.apache.spark.sql.dovetail.plan.MeasuredOrders.OrderRun
import org.scalatest.funsuite.AnyFunSuite

/** Which of the orders that have run is the best, by their rows, costs and times. */
class MeasuredOrdersSuite extends AnyFunSuite {
  private def run(shape: String, rows: Double, cost: Double, millis: Long): OrderRun =
    run(shape, rows, cost, Seq("q" -> millis): _*)

  private def run(shape: String, rows: Double, cost: Double, times: (String, Long)*): OrderRun =
    OrderRun(order(shape, times: _*), rows, cost)(null)

  /** An order in which these queries have run, one after the other. */
  private def order(shape: String, times: (String, Long)*): MeasuredOrder =
    times.foldLeft(MeasuredOrder(shape, 0, Vector.empty)) { case (all, (query, millis)) =>
      all.again(MeasuredOrder(shape, 1, Vector(QueryTime(query, millis, warm = true))))
    }

  private def best(runs: OrderRun*): String = {
    val shapes = runs.toVector.permutations.map(MeasuredOrders.best(_).order.shape).toSet
    assert(shapes.size == 1, "the order of the list does not matter")
    shapes.head
  }

  test("few rows first, then the modeled cost among about as few") {
    assert(best(run("a", rows = 100, cost = 9, 1000), run("b", rows = 1000, cost = 1, 1000)) == "a")
    assert(best(run("a", rows = 100, cost = 9, 1000), run("b", rows = 105, cost = 1, 1000)) == "b")
  }

  test("the pairs of a nested loop count as the rows that cost as much") {
    def rows(n: Double)     = Estimate.exactly(n, Source.History)
    def leaf(r: Int)        = JoinTree.Leaf(r, rows(1e6), 1e8, 1e8, 1e6, Cost(), Vector.empty)
    def join(m: JoinMethod) = JoinTree.Join(leaf(0), leaf(1), rows(1e5), 1e5, 1e7, 1e7, 1e5, m, Cost(), None)(() =>
      throw new UnsupportedOperationException("the choice of the method")
    )
    val (loop, hash) =
      (MeasuredOrders.rowsOf(join(JoinMethod.NestedLoop)), MeasuredOrders.rowsOf(join(JoinMethod.BroadcastRight)))
    // a pair costs 10 ns, a joined row 120 ns
    assert(hash == 1e5 && math.abs(loop / (1e5 + 1e12 / 12.0) - 1.0) < 1e-9)
    assert(best(run("loop", loop, cost = 1, 1000), run("keys", rows = 1e7, cost = 9, 1000)) == "keys")
  }

  test("an order that ran clearly slower is left, however few its rows are") {
    assert(best(run("a", rows = 100, cost = 1, 9000), run("b", rows = 1000, cost = 9, 1000)) == "b")
    assert(best(run("a", rows = 100, cost = 1, 9000), run("b", rows = 105, cost = 9, 1000)) == "b")
  }

  test("times of a tenth or of half a second are noise") {
    assert(best(run("a", rows = 100, cost = 1, 10900), run("b", rows = 1000, cost = 9, 10000)) == "a")
    assert(best(run("a", rows = 100, cost = 1, 900), run("b", rows = 1000, cost = 9, 500)) == "a")
  }

  test("times of different queries are not compared, nor those of queries without a name") {
    assert(best(run("a", rows = 100, cost = 1, "q" -> 9000L), run("b", rows = 1000, cost = 9, "p" -> 1000L)) == "a")
    val nameless = MeasuredOrder("c", 1, Vector.empty)
    assert(best(OrderRun(nameless, rows = 100, cost = 1)(null), run("b", rows = 1000, cost = 9, 1000)) == "c")
  }

  test("another query that runs with an order does not bring back an order that was slower") {
    val slow = run("slow", rows = 100, cost = 1, "q" -> 20000L)
    assert(best(slow, run("fast", rows = 1000, cost = 9, "q" -> 10000L, "p" -> 30000L)) == "fast")
    assert(best(slow, run("fast", rows = 1000, cost = 9, (0 to 2).map(i => s"p$i" -> 9000L) :+ ("q" -> 10000L): _*)) ==
      "fast")
    // the fastest of the runs counts, and the queries that ran with both orders count together
    assert(order("a", "q" -> 5L, "q" -> 3L, "q" -> 4L).times == Vector(QueryTime("q", 3L, warm = true)))
    assert(best(
      run("a", rows = 100, cost = 1, "p"  -> 9000L, "q" -> 1000L),
      run("b", rows = 1000, cost = 9, "p" -> 1000L, "q" -> 9500L)
    ) == "a")
  }

  test("the first run of a query in an application may be slow for other reasons, but not fast") {
    def first(shape: String, rows: Double, millis: Long) =
      OrderRun(MeasuredOrder(shape, 1, Vector(QueryTime("q", millis, warm = false))), rows, cost = 1)(null)
    assert(best(first("first", rows = 100, 9000), run("later", rows = 1000, cost = 1, 1000)) == "first")
    assert(best(first("first", rows = 1000, 1000), run("later", rows = 100, cost = 1, 9000)) == "first")
    val again = MeasuredOrder("a", 1, Vector(QueryTime("q", 9L, warm = false))).again(order("a", "q" -> 12L))
    assert(again.times == Vector(QueryTime("q", 9L, warm = true)))
  }

  test("the times of some queries are kept, the latest ones") {
    val many = order("a", (1 to 9).map(i => s"q$i" -> i.toLong): _*)
    assert(many.runs == 9 && many.times.map(_.query) == Vector("q6", "q7", "q8", "q9"))
  }

  test("orders that are faster in turns, by different queries: rows decide") {
    val orders = Seq(
      run("a", rows = 100, cost = 9, "p" -> 1000L, "q" -> 9000L),
      run("b", rows = 200, cost = 1, "q" -> 1000L, "r" -> 9000L),
      run("c", rows = 300, cost = 1, "r" -> 1000L, "p" -> 9000L)
    )
    assert(best(orders: _*) == "a")
  }

  test("three orders: the fast ones are compared by their rows") {
    val slow  = run("slow", rows = 10, cost = 1, 9000)
    val many  = run("many", rows = 1000, cost = 1, 1000)
    val fewer = run("fewer", rows = 500, cost = 9, 1100)
    assert(best(slow, many, fewer) == "fewer")
  }
}
