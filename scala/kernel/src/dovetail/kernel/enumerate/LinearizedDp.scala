package dovetail.kernel.enumerate

import dovetail.kernel.cost.SubPlan
import dovetail.kernel.graph.Forest

/**
 * Dynamic programming over the intervals of a linear order of the relations. It considers every bushy tree whose
 * leaves, read from left to right, are in that order.
 *
 * Neumann and Radke, "Adaptive Optimization of Very Large Join Queries", SIGMOD 2018, §4.2. The order is the best
 * left-deep order by [[Ikkbz]] on a spanning tree of the most selective edges. The dynamic program then uses all edges
 * and the real cost model, with several plans per interval. At most (n³ - n) / 6 pairs are considered and n² / 2 sizes
 * are estimated for an order of n relations.
 *
 * Where we depart: more than one order is tried. One is the order of the leaves of the plan that we already have (the
 * greedy one). With it, the result is never worse than that plan. It also gives a result if the spanning tree's order
 * has none, because of hyperedges or joins that are not allowed. Other orders begin with the largest relations: C_out
 * does not count that a large relation is read or moved, whatever its join returns, so it delays the join that would
 * make this relation small. Components that no edge connects follow each other as a whole.
 */
final class LinearizedDp(parts: Fragments, meter: Meter) {
  import LinearizedDp._

  /**
   * Returns a plan that costs less than `plan` if it finds one and the graph is not too large for the budget. Otherwise
   * returns `plan`.
   */
  def improve(plan: SubPlan): SubPlan = {
    val found = if (pairs(parts.size) <= meter.left && meter.inTime) best(parts.leaves(plan, plan.best)) else None
    found.map(_.plan).filter(_.leastCost < plan.leastCost).getOrElse(plan)
  }

  /** The best plan of all units in any of the orders. None if no order has a plan, or if the budget ended before. */
  def best(units: Vector[Fragment]): Option[Fragment] = {
    val found = orders(
      units
    ).iterator.takeWhile(_ => meter.inTime && meter.left >= pairs(units.size)).flatMap(overIntervals(_)).toVector
    if (found.isEmpty) None else Some(found.reduceLeft((a, b) => if (b.cost < a.cost) b else a))
  }

  private def orders(units: Vector[Fragment]): Vector[Vector[Fragment]] = {
    val (ikkbz, trees) = precedence(units)
    val largest        = units.indices.sortBy(i => -units(i).plan.bytes).take(Starts).toVector
    // if there are several trees, the tree that contains the relation begins with it
    val begun = largest.map(first =>
      trees.flatMap(t => if (t.contains(first)) ikkbz.startingWith(first).nodes else ikkbz.order(t))
    )
    ((trees.flatMap(ikkbz.order) +: units.indices.toVector +: begun).distinct).map(_.map(units))
  }

  /** The best plan whose leaves are in this order. */
  def overIntervals(order: Vector[Fragment]): Option[Fragment] = {
    val n    = order.size
    val at   = Array.tabulate(n)(from => new Array[Fragment](n - from)) // [from][length - 1]
    var more = true
    for (i <- 0 until n) at(i)(0) = order(i)
    var length = 2
    while (more && length <= n) {
      var from = 0
      while (more && from + length <= n) {
        more = fill(at, from, length)
        from += 1
      }
      length += 1
    }
    if (more) Option(at(0)(n - 1)) else None
  }

  /** Tries all splits of one interval. Returns false if the budget ended. */
  private def fill(at: Array[Array[Fragment]], from: Int, length: Int): Boolean = {
    var out: Fragment = null
    var cut           = 1
    while (cut < length) {
      val (a, b) = (at(from)(cut - 1), at(from + cut)(length - cut - 1))
      val step   = if (a != null && b != null) parts.step(a, b) else None
      if (step.isDefined) {
        if (!meter.pair()) return false
        if (out == null) out = sized(a, b)
        parts.join(a, b, out, step.get)
      }
      cut += 1
    }
    at(from)(length - 1) = out
    true
  }

  private def sized(a: Fragment, b: Fragment): Fragment = { val out = parts.union(a, b); meter.estimate(out); out }

  /** Spanning trees of the most selective edges. */
  private def precedence(units: Vector[Fragment]): (Ikkbz, Vector[Vector[Int]]) = {
    val forest = new Forest(units.size)
    val edges  = for {
      a <- units.indices
      b <- a + 1 until units.size if !(units(a).closed && units(b).closed) && parts.step(units(a), units(b)).isDefined
    } yield Ikkbz.Edge(a, b, sized(units(a), units(b)).plan.rows / (units(a).plan.rows * units(b).plan.rows))
    val simple = edges.sortBy(_.selectivity).filter(e => forest.link(e.a, e.b))
    // the selectivity of a hyperedge is only known when both its sides are complete
    val hyper = for {
      (l, r) <- parts.connections.hyperedges
      a = units.indexWhere(_.relations.overlaps(l))
      b = units.indexWhere(_.relations.overlaps(r)) if a >= 0 && b >= 0 && forest.link(a, b)
    } yield Ikkbz.Edge(a, b, 1.0)
    (new Ikkbz(units.map(_.plan.rows).toArray, simple ++ hyper), forest.trees)
  }
}

object LinearizedDp {

  /**
   * Number of largest relations that orders are made to begin with. On random graphs of 10 to 18 relations, more of
   * them hardly find better plans.
   */
  private val Starts = 4

  /** Maximum number of pairs of an order of `n` relations. */
  def pairs(n: Int): Long = (n.toLong * n * n - n) / 6

  /** Maximum number of pairs of a search over `n` relations, in all orders. */
  def most(n: Int): Long = pairs(n) * (Starts + 2L)
}
