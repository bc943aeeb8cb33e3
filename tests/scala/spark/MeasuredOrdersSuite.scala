package org.apache.spark.sql.dovetail

import org.apache.spark.sql.dovetail.history.MeasuredOrder
import org.apache.spark.sql.dovetail.plan.MeasuredOrders
import org.apache.spark.sql.dovetail.plan.MeasuredOrders.OrderRun
import org.scalatest.funsuite.AnyFunSuite

/** Which of the orders that have run is the best, by their rows, costs and times. */
class MeasuredOrdersSuite extends AnyFunSuite {
  private def run(shape: String, rows: Double, cost: Double, millis: Long, query: String = "q"): OrderRun =
    OrderRun(MeasuredOrder(shape, runs = 1, query, millis), rows, cost)(null)

  private def best(runs: OrderRun*): String = {
    val shapes = runs.toVector.permutations.map(MeasuredOrders.best(_).order.shape).toSet
    assert(shapes.size == 1, "the order of the list does not matter")
    shapes.head
  }

  test("few rows first, then the modeled cost among about as few") {
    assert(best(run("a", rows = 100, cost = 9, 1000), run("b", rows = 1000, cost = 1, 1000)) == "a")
    assert(best(run("a", rows = 100, cost = 9, 1000), run("b", rows = 105, cost = 1, 1000)) == "b")
  }

  test("an order that ran clearly slower is left, however few its rows are") {
    assert(best(run("a", rows = 100, cost = 1, 9000), run("b", rows = 1000, cost = 9, 1000)) == "b")
    assert(best(run("a", rows = 100, cost = 1, 9000), run("b", rows = 105, cost = 9, 1000)) == "b")
  }

  test("times of a tenth or of half a second are noise") {
    assert(best(run("a", rows = 100, cost = 1, 10900), run("b", rows = 1000, cost = 9, 10000)) == "a")
    assert(best(run("a", rows = 100, cost = 1, 900), run("b", rows = 1000, cost = 9, 500)) == "a")
  }

  test("times of different queries, or of queries without a text, are not compared") {
    assert(best(run("a", rows = 100, cost = 1, 9000, "q"), run("b", rows = 1000, cost = 9, 1000, "p")) == "a")
    assert(best(run("a", rows = 100, cost = 1, 9000, ""), run("b", rows = 1000, cost = 9, 1000, "")) == "a")
  }

  test("three orders: the fast ones are compared by their rows") {
    val slow  = run("slow", rows = 10, cost = 1, 9000)
    val many  = run("many", rows = 1000, cost = 1, 1000)
    val fewer = run("fewer", rows = 500, cost = 9, 1100)
    assert(best(slow, many, fewer) == "fewer")
  }
}
