package dovetail.kernel.enumerate

import dovetail.kernel.graph.{JoinGraph, Words}
import dovetail.kernel.profile.Assumptions

/**
 * The predicates of a graph that a join tests on pairs of rows with equal keys (`a.day BETWEEN b.first AND b.last`
 * beside `a.shop = b.shop`). No hash table and no sort finds their pairs, so a join makes all pairs of its keys and
 * drops most of them. [[Sizer]] stores the share that remains in each [[dovetail.kernel.cost.SubPlan]], and the cost
 * model prices the pairs that are dropped.
 */
final private[enumerate] class Residuals(graph: JoinGraph) {
  private val words = new Words(graph.size)

  private val residuals = graph.predicates.filter(p => p.sides.isEmpty && p.selectivity < 1.0)
  private val shares    = residuals.map(_.selectivity).toArray

  // relations that must be joined before a predicate is applied
  private val needs: Array[Array[Long]] = residuals.map(p => words.packed(graph.neededBy(p))).toArray

  /** Share of the pairs that the predicates within the first `n` of `relations` keep together; 1 if there are none. */
  def shareOf(relations: Array[Int], n: Int): Double =
    if (shares.isEmpty) 1.0
    else {
      val set    = words.packed(relations, n)
      var single = 1.0
      var within = 0
      var i      = 0
      while (i < shares.length) {
        if (Words.within(needs(i), set)) { within += 1; single = shares(i) }
        i += 1
      }
      if (within < 2) single
      else Assumptions.conjunction(shares.indices.filter(i => Words.within(needs(i), set)).map(shares(_)))
    }
}
