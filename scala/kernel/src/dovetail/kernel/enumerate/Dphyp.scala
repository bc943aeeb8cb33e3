package dovetail.kernel.enumerate

import dovetail.kernel.graph.{Hypergraph, RelSet}

/**
 * Enumerates the connected subgraphs of a hypergraph with their connected complements, each pair once, in an order fit for dynamic programming.
 *
 * Moerkotte and Neumann, "Dynamic Programming Strikes Back", SIGMOD 2008, §3. The names of the paper stand at the methods. Work is proportional to the
 * number of pairs (chain of n: (n³-n)/6, star: (n-1)·2ⁿ⁻², clique: (3ⁿ-2ⁿ⁺¹+1)/2), never to the number of subsets.
 *
 * Where we depart: a graph without hyperedges skips the look-ups whether a grown set is connected, because a set grown by neighbours always is.
 */
final class Dphyp(graph: Hypergraph, receiver: Receiver) {
  private var stopped = false

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

  private def isSubgraph(s: RelSet): Boolean = !graph.hasHyperedges || receiver.contains(s)

  /** The paper's EnumerateCsgRec: grows `s` by its neighbours outside of `excluded`. */
  private def growSubgraph(s: RelSet, excluded: RelSet): Unit = {
    val neighbors = graph.neighborhood(s, excluded)
    if (neighbors.nonEmpty) {
      neighbors.foreachSubset(n => if (!stopped && isSubgraph(s | n)) complementsOf(s | n))
      val all = excluded | neighbors
      neighbors.foreachSubset(n => if (!stopped) growSubgraph(s | n, all))
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
      neighbors.foreachSubset(n => if (!stopped && isSubgraph(c | n) && graph.connected(s, c | n)) emit(s, c | n))
      val all = excluded | neighbors
      neighbors.foreachSubset(n => if (!stopped) growComplement(s, c | n, all))
    }
  }

  private def emit(s: RelSet, c: RelSet): Unit = if (!receiver.pair(s, c)) stopped = true
}
