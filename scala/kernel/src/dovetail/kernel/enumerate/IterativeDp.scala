package dovetail.kernel.enumerate

import dovetail.kernel.cost.SubPlan

/**
 * Improves a plan of any size piece by piece: takes the most expensive sub-tree of at most `leaves` leaves, finds the best order of those leaves, makes the
 * whole one leaf, and goes on until all is one leaf; then begins again with the better plan, until a round finds nothing or the budget ends.
 *
 * Iterative dynamic programming on a greedy plan: Kossmann and Stocker, "Iterative Dynamic Programming", TODS 2000 (IDP-2); Neumann and Radke, SIGMOD
 * 2018, §4.3. A piece is searched exactly if that takes few pairs, else by [[LinearizedDp]].
 *
 * Where we depart: the most expensive sub-tree is the one whose own joins cost most, without what was made a leaf before, or each piece would hold the
 * last; the rounds; and a piece keeps its old plans beside the new ones, for one may be partitioned as a join above it likes.
 *
 * @param leaves     of a piece at most
 * @param exactPairs pairs up to which a piece is searched exactly
 */
final class IterativeDp(parts: Parts, meter: Meter, leaves: Int, exactPairs: Long) {
  import IterativeDp._

  /** A plan that costs no more than `plan`. */
  def improve(plan: SubPlan): SubPlan = {
    var best   = plan
    var better = true
    while (better && meter.open) {
      val found       = round(best)
      val (was, is)   = (best.cost(best.best), found.cost(found.best))
      better = is < was * WorthARound
      if (is < was) best = found
    }
    best
  }

  private def round(plan: SubPlan): SubPlan = {
    val root = tree(plan, plan.best)
    while (!root.isLeaf && meter.open) {
      val piece = dearest(root)
      piece.becomes(searched(piece))
    }
    priced(root).plan
  }

  private def searched(piece: Node): Part = {
    val units = piece.units
    val found =
      if (units.size == 2) None
      else if (PartTable.within(math.min(exactPairs, meter.left), units, parts)) new PartTable(units, parts, meter).best()
      else new LinearizedDp(parts, meter).best(units)
    found.fold(priced(piece)) { out => parts.join(priced(piece.left), priced(piece.right), out); out }
  }

  private def tree(plan: SubPlan, i: Int): Node =
    if (plan.relation >= 0) new Node(null, null, parts.leaf(plan.relation), 0.0)
    else {
      val (l, r) = (plan.left(i), plan.right(i))
      val (a, b) = (tree(l, plan.leftAlternative(i)), tree(r, plan.rightAlternative(i)))
      new Node(a, b, parts.union(a.part, b.part, plan), plan.cost(i) - l.cost(plan.leftAlternative(i)) - r.cost(plan.rightAlternative(i)))
    }

  /** The joins of the node as they stand, over what its leaves have become. */
  private def priced(node: Node): Part =
    if (node.isLeaf) node.part
    else {
      val (a, b) = (priced(node.left), priced(node.right))
      val out    = node.part.unpriced
      parts.join(a, b, out)
      out
    }

  /** The first of the most expensive sub-trees of at most `leaves` leaves. */
  private def dearest(root: Node): Node = {
    var found: Node = null
    def walk(node: Node): Unit = if (!node.isLeaf) {
      walk(node.left)
      walk(node.right)
      node.sum()
      if (node.leaves <= leaves && (found == null || node.joins > found.joins)) found = node
    }
    walk(root)
    found
  }
}

object IterativeDp {

  /** Share of the cost that has to be left by one round for another to be worth its time: below one percent is within what estimates are worth. */
  private val WorthARound = 0.99

  /**
   * A join, or a leaf: a relation or what has become one.
   *
   * @param own what the join costs, without its inputs
   */
  final private class Node(val left: Node, val right: Node, var part: Part, own: Double) {
    var isLeaf: Boolean = left == null
    var leaves: Int     = 1
    var joins: Double   = 0.0 // cost of all joins down to the leaves

    def becomes(whole: Part): Unit = { part = whole; isLeaf = true; leaves = 1; joins = 0.0 }

    def sum(): Unit = { leaves = left.leaves + right.leaves; joins = own + left.joins + right.joins }

    /** From left to right. */
    def units: Vector[Part] = if (isLeaf) Vector(part) else left.units ++ right.units
  }
}
