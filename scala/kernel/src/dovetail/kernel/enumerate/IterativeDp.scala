package dovetail.kernel.enumerate

import dovetail.kernel.cost.SubPlan

/**
 * Improves a plan of any size piece by piece. It takes the most expensive sub-tree with few enough leaves, finds the
 * best order of these leaves, turns the sub-tree into one leaf, and continues until the whole tree is one leaf. This is
 * one round. The next round starts with the better plan, until no kind of round finds an improvement or the budget
 * ends.
 *
 * Iterative dynamic programming on a greedy plan: Kossmann and Stocker, "Iterative Dynamic Programming", TODS 2000
 * (IDP-2); Neumann and Radke, SIGMOD 2018, §4.3.
 *
 * Where we depart: one round searches pieces by [[LinearizedDp]], the next one exactly. In an exact round, a piece has
 * as many leaves as its pairs allow, more in a chain than in a clique. The most expensive sub-tree is the one whose own
 * joins cost most, without the parts that were turned into leaves before; otherwise each piece would contain the last
 * one. And a piece keeps its old plans in addition to the new ones, because one of them may have a partitioning that a
 * join above needs.
 */
final class IterativeDp(parts: Fragments, meter: Meter, rounds: Seq[IterativeDp.Round]) {
  import IterativeDp._

  /** Returns a plan that costs no more than `plan`. */
  def improve(plan: SubPlan): SubPlan = {
    var best = plan
    var idle = 0 // rounds since the last one that paid off
    var next = 0
    while (idle < rounds.size && meter.open) {
      val found     = play(rounds(next % rounds.size), best)
      val (was, is) = (best.leastCost, found.leastCost)
      idle = if (is < was * WorthARound) 0 else idle + 1
      next += 1
      if (is < was) best = found
    }
    best
  }

  private def play(round: Round, plan: SubPlan): SubPlan = {
    val root = tree(plan, plan.best)
    while (!root.isLeaf && meter.open) {
      val piece = dearest(root, round)
      val found = if (piece.leaves == 2) None else search(piece.units, round)
      piece.becomes(found.fold(priced(piece)) { out =>
        parts.joinAgain(priced(piece.left), priced(piece.right), out); out
      })
    }
    priced(root).plan
  }

  private def fits(piece: Node, round: Round): Boolean = piece.leaves == 2 || (round match {
    case Linear(leaves) => piece.leaves <= leaves && LinearizedDp.pairs(piece.leaves) <= meter.left
    case Exact(pairs)   =>
      piece.leaves <= Exact.Leaves && FragmentTable.within(math.min(pairs, meter.left), piece.units, parts)
  })

  private def search(units: Vector[Fragment], round: Round): Option[Fragment] = round match {
    case Linear(_) => new LinearizedDp(parts, meter).best(units)
    case Exact(_)  => new FragmentTable(units, parts, meter).best()
  }

  private def tree(plan: SubPlan, i: Int): Node =
    if (plan.isLeaf) new Node(null, null, parts.leaf(plan.relation), 0.0)
    else {
      val (l, r) = (plan.left(i), plan.right(i))
      val (a, b) = (tree(l, plan.leftAlternative(i)), tree(r, plan.rightAlternative(i)))
      new Node(
        a,
        b,
        parts.union(a.part, b.part, plan),
        plan.cost(i) - l.cost(plan.leftAlternative(i)) - r.cost(plan.rightAlternative(i))
      )
    }

  /** The joins of the node in their current order, priced over what its leaves have become. */
  private def priced(node: Node): Fragment =
    if (node.isLeaf) node.part
    else {
      val (a, b) = (priced(node.left), priced(node.right))
      val out    = node.part.unpriced
      parts.joinAgain(a, b, out)
      out
    }

  /** The most expensive sub-tree that a round may search; the first one in a tie. */
  private def dearest(root: Node, round: Round): Node = {
    val all                    = Vector.newBuilder[Node]
    def walk(node: Node): Unit = if (!node.isLeaf) {
      walk(node.left)
      walk(node.right)
      node.sum()
      if (node.leaves != node.refused) all += node
    }
    walk(root)
    all.result().sortBy(-_.joins).find { n =>
      val ok = fits(n, round); if (!ok) n.refused = n.leaves; ok
    }.get
  }
}

object IterativeDp {

  /** How pieces are cut and searched in one round. */
  sealed trait Round

  /** @param leaves maximum number of leaves of a piece */
  final case class Linear(leaves: Int) extends Round

  /** @param pairs maximum number of pairs of a piece */
  final case class Exact(pairs: Long) extends Round

  object Exact {

    /**
     * Maximum number of leaves of a piece, however few pairs it has: a chain of 40 has 10,660 pairs, and more leaves
     * would only take long to count.
     */
    val Leaves = 40
  }

  /**
   * First large pieces, which need no more pairs if they are dense. Then exact searches of pieces of two sizes, so that
   * a relation leaves its piece when the next round cuts the tree differently. On random graphs of 10 to 18 relations,
   * a tenth of the plans then costs more than 1.1 times the exact cost; with the first two rounds alone, more than 1.25
   * times.
   */
  val Rounds: Seq[Round] = Seq(Linear(20), Exact(500), Exact(100))

  /**
   * Share of the cost that one round may leave at most for another round to be worth its time. An improvement of less
   * than one percent is within the error of the estimates.
   */
  private val WorthARound = 0.99

  /**
   * A join, or a leaf: a relation, or a sub-tree that was turned into one.
   *
   * @param own cost of the join without its inputs
   */
  final private class Node(val left: Node, val right: Node, var part: Fragment, own: Double) {
    var isLeaf: Boolean = left == null
    var leaves: Int     = 1
    var joins: Double   = 0.0 // cost of all joins down to the leaves
    var refused: Int    = 0   // leaves it had when it was too large to be searched

    def becomes(whole: Fragment): Unit = { part = whole; isLeaf = true; leaves = 1; joins = 0.0 }

    def sum(): Unit = { leaves = left.leaves + right.leaves; joins = own + left.joins + right.joins }

    /** The leaves from left to right. */
    def units: Vector[Fragment] = if (isLeaf) Vector(part) else left.units ++ right.units
  }
}
