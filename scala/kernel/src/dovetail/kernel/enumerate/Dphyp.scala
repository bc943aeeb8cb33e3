package dovetail.kernel.enumerate

import dovetail.kernel.graph.{Hypergraph, RelSet}

/**
 * Enumerates the csg-cmp pairs of a hypergraph: each connected subgraph with each of its connected complements, each
 * pair once. The order is suitable for dynamic programming: every pair comes after all pairs within its two sides.
 *
 * Moerkotte and Neumann, "Dynamic Programming Strikes Back", SIGMOD 2008, §3. The comments of the methods give their
 * names in the paper. In outline:
 *
 *  1. Solve ([[run]]) reports every relation, then starts a subgraph at each, the last one first. Relations before the
 *     start are excluded, so that no subgraph is reported twice.
 *  1. EnumerateCsgRec (`growSubgraph`) adds every nonempty subset of the subgraph's neighbors, then grows each of these
 *     sets in turn, with the neighbors excluded.
 *  1. EmitCsg (`complementsOf`) starts a complement of each subgraph at each of its neighbors beyond the subgraph's
 *     first relation, and reports the pair if an edge connects the two.
 *  1. EnumerateCmpRec (`growComplement`) grows a complement as step 2 grows a subgraph, and reports each pair that an
 *     edge connects.
 *
 * A grown set may be unconnected, for two reasons. First, the neighborhood contains only the smallest relation of a
 * hyperedge's far side, which represents the others ([[Hypergraph.neighborhood]]): no edge is complete until the others
 * are added as well. Second, with operators, an edge does not always mean that its sides may be joined.
 *
 * This has two consequences. An unconnected set is not a side of a pair, so the enumeration asks the receiver whether
 * it has a plan of the set; if there is one, the receiver has it by then. But the set is grown further, because a
 * larger one may be connected. If a graph has only edges between two relations, and these may always be joined, the
 * enumeration does not ask (here we depart from the paper), because a set grown by neighbors is then always connected.
 *
 * Work is proportional to the number of pairs (chain of n: (n³-n)/6, star: (n-1)·2ⁿ⁻², clique: (3ⁿ-2ⁿ⁺¹+1)/2), never to
 * the number of subsets, as long as most grown sets are connected.
 */
final class Dphyp(graph: Hypergraph, receiver: Receiver) {
  private var stopped = false
  private var looks   = 0L

  /** Runs the enumeration. Returns false if the receiver stopped it. The paper's Solve. */
  def run(): Boolean = {
    var v = 0
    while (v < graph.size) { receiver.relation(v); v += 1 }
    v = graph.size - 1
    while (v >= 0 && !stopped) {
      val s = RelSet.single(v)
      complementsOf(s)
      growSubgraph(s, RelSet.upTo(v))
      v -= 1
    }
    !stopped
  }

  private def isSubgraph(s: RelSet): Boolean = !graph.hasGaps || {
    // With hyperedges and conflicts, most grown sets may be unconnected and never reach the receiver, so time can pass
    // without a pair.
    looks += 1
    if ((looks & Dphyp.ClockInterval) == 0L && !receiver.timeLeft) stopped = true
    receiver.contains(s)
  }

  /** The paper's EnumerateCsgRec: grows `s` by its neighbors outside `excluded`. */
  private def growSubgraph(s: RelSet, excluded: RelSet): Unit = {
    val neighbors = graph.neighborhood(s, excluded)
    if (neighbors.nonEmpty) {
      var n = neighbors.nextSubset(RelSet.empty)
      while (n.nonEmpty && !stopped) {
        if (isSubgraph(s | n)) complementsOf(s | n)
        n = neighbors.nextSubset(n)
      }
      val all = excluded | neighbors
      n = neighbors.nextSubset(RelSet.empty)
      while (n.nonEmpty && !stopped) {
        growSubgraph(s | n, all)
        n = neighbors.nextSubset(n)
      }
    }
  }

  /** The paper's EmitCsg: starts every complement of `s` with one of its neighbors, the largest first. */
  private def complementsOf(s: RelSet): Unit = {
    val excluded  = s | RelSet.upTo(s.min)
    val neighbors = graph.neighborhood(s, excluded)
    var rest      = neighbors
    while (rest.nonEmpty && !stopped) {
      val v     = rest.max
      val start = RelSet.single(v)
      if (graph.connected(s, start)) emit(s, start)
      // complements that start here leave smaller neighbors to their own turn
      if (!stopped) growComplement(s, start, excluded | (RelSet.upTo(v) & neighbors))
      rest = rest - start
    }
  }

  /** The paper's EnumerateCmpRec: grows the complement `c` of `s`. */
  private def growComplement(s: RelSet, c: RelSet, excluded: RelSet): Unit = {
    val neighbors = graph.neighborhood(c, excluded)
    if (neighbors.nonEmpty) {
      var n = neighbors.nextSubset(RelSet.empty)
      while (n.nonEmpty && !stopped) {
        if (isSubgraph(c | n) && graph.connected(s, c | n)) emit(s, c | n)
        n = neighbors.nextSubset(n)
      }
      val all = excluded | neighbors
      n = neighbors.nextSubset(RelSet.empty)
      while (n.nonEmpty && !stopped) {
        growComplement(s, c | n, all)
        n = neighbors.nextSubset(n)
      }
    }
  }

  private def emit(s: RelSet, c: RelSet): Unit = if (!receiver.pair(s, c)) stopped = true
}

object Dphyp {

  /** Number of pairs of a clique of `n` relations; no simple graph has more. */
  def pairsOfClique(n: Int): Double = (math.pow(3.0, n) - math.pow(2.0, n + 1) + 1) / 2

  /** Number of sets looked up between two looks at the clock, as a bit mask. */
  private val ClockInterval = 1023L
}
