package dovetail.kernel.enumerate

import dovetail.kernel.graph.{Hypergraph, RelSet}

/**
 * Enumerates the connected subgraphs of a hypergraph with their connected complements, each pair once, in an order fit
 * for dynamic programming: every pair comes after all pairs within its two sides.
 *
 * Moerkotte and Neumann, "Dynamic Programming Strikes Back", SIGMOD 2008, §3. The names of the paper stand at the
 * methods. In outline:
 *
 *  1. Solve ([[run]]) reports every relation, then starts a subgraph at each, the last one first. Relations before the
 *     start are excluded, so that no subgraph comes up twice.
 *  1. EnumerateCsgRec (`growSubgraph`) adds every non-empty subset of the subgraph's neighbours, then grows each of
 *     these sets in turn, with the neighbours excluded.
 *  1. EmitCsg (`complementsOf`) starts a complement of each subgraph at each of its neighbours beyond the subgraph's
 *     first relation, and reports the pair if an edge connects the two.
 *  1. EnumerateCmpRec (`growComplement`) grows a complement as step 2 does a subgraph, and reports each pair that an
 *     edge connects.
 *
 * A grown set may be unconnected. Of a hyperedge's far side, the neighbourhood has only the least relation, which
 * stands for the others ([[Hypergraph.neighborhood]]): until these are there as well, no edge is complete. And with
 * operators, an edge does not always mean that its sides may be joined. Two things follow. Such a set is no side of a
 * pair, so the receiver is asked whether it knows a plan of the set, which it does by then if there is one. But the set
 * is grown further, because a larger one may be connected. A graph of nothing but edges between two relations that may
 * always be joined skips the question (here we depart from the paper): a set grown by neighbours always is connected.
 *
 * Work is proportional to the number of pairs (chain of n: (n³-n)/6, star: (n-1)·2ⁿ⁻², clique: (3ⁿ-2ⁿ⁺¹+1)/2), never to
 * the number of subsets, as long as most grown sets are connected.
 */
final class Dphyp(graph: Hypergraph, receiver: Receiver) {
  private var stopped = false
  private var looks   = 0L

  /** Runs the enumeration; false if the receiver stopped it. The paper's Solve. */
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
    // With hyperedges and conflicts, most grown sets may be unconnected, and nobody hears of them: time can pass
    // without a pair.
    looks += 1
    if ((looks & Dphyp.ClockInterval) == 0L && !receiver.timeLeft) stopped = true
    receiver.contains(s)
  }

  /** The paper's EnumerateCsgRec: grows `s` by its neighbours outside of `excluded`. */
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

  /** The paper's EmitCsg: starts every complement of `s` with one of its neighbours, the largest first. */
  private def complementsOf(s: RelSet): Unit = {
    val excluded  = s | RelSet.upTo(s.min)
    val neighbors = graph.neighborhood(s, excluded)
    var rest      = neighbors
    while (rest.nonEmpty && !stopped) {
      val v     = rest.max
      val start = RelSet.single(v)
      if (graph.connected(s, start)) emit(s, start)
      // complements that start here leave smaller neighbours to their own turn
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

  /** Pairs of a clique of `n` relations; no simple graph has more. */
  def pairsOfClique(n: Int): Double = (math.pow(3.0, n) - math.pow(2.0, n + 1) + 1) / 2

  /** Sets looked up between two looks at the clock, as a bit mask. */
  private val ClockInterval = 1023L
}
