package dovetail.kernel.graph

/**
 * The edges of a join graph of at most 64 relations as bit masks, for the exact search.
 *
 * @param restricted whether an edge between two sets does not always mean that they may be joined
 */
final class Hypergraph(
    val size: Int,
    simple: Array[Long],
    hyper: Array[(RelSet, RelSet)],
    restricted: Boolean = false
) {
  require(size <= RelSet.MaxSize && simple.length == size)

  /** Whether a set grown by neighbors may be one that cannot be joined. */
  def hasGaps: Boolean = hyper.nonEmpty || restricted

  /**
   * Relations outside `s` and `excluded` that an edge connects with `s`. A simple edge contributes its other relation.
   * A hyperedge contributes only the smallest relation of its far side, which represents that side (Moerkotte and
   * Neumann 2008, §2.3: N(S, X)). Extra relations cost time but never correctness, because `connected` decides.
   */
  def neighborhood(s: RelSet, excluded: RelSet): RelSet = {
    var bits = s.bits
    var n    = 0L
    while (bits != 0L) { n |= simple(java.lang.Long.numberOfTrailingZeros(bits)); bits &= bits - 1 }
    val forbidden = s | excluded
    n &= ~forbidden.bits
    var i = 0
    while (i < hyper.length) {
      val (u, v) = hyper(i)
      if (u.isSubsetOf(s) && !v.overlaps(forbidden)) n |= RelSet.single(v.min).bits
      if (v.isSubsetOf(s) && !u.overlaps(forbidden)) n |= RelSet.single(u.min).bits
      i += 1
    }
    new RelSet(n)
  }

  /** Whether some edge leads from `a` to `b`. */
  def connected(a: RelSet, b: RelSet): Boolean = {
    var bits = a.bits
    while (bits != 0L) {
      if ((simple(java.lang.Long.numberOfTrailingZeros(bits)) & b.bits) != 0L) return true
      bits &= bits - 1
    }
    var i = 0
    while (i < hyper.length) {
      val (u, v) = hyper(i)
      if ((u.isSubsetOf(a) && v.isSubsetOf(b)) || (v.isSubsetOf(a) && u.isSubsetOf(b))) return true
      i += 1
    }
    false
  }
}

object Hypergraph {

  /**
   * The edges of `graph`. Hyperedges between whole components join the components that no edge connects. So only
   * complete components form a cross product, and only if there is no other way.
   */
  def apply(graph: JoinGraph): Hypergraph = if (graph.operators.isEmpty) ofInnerJoins(graph) else ofAllJoins(graph)

  private def set(rs: Vector[Int]) = RelSet(rs: _*)

  private def ofAllJoins(graph: JoinGraph): Hypergraph = {
    val (simple, hyper) = graph.edges.all.partition { case (l, r) => l.size == 1 && r.size == 1 }
    val neighbors       = new Array[Long](graph.size)
    simple.foreach { case (l, r) => neighbors(l.head) |= set(r).bits; neighbors(r.head) |= set(l).bits }
    new Hypergraph(graph.size, neighbors, hyper.map { case (l, r) => (set(l), set(r)) }.toArray, restricted = true)
  }

  private def ofInnerJoins(graph: JoinGraph): Hypergraph = {
    // an edge also serves all supersets of its sides, so the edges between single components also join unions of them
    val crossings = for (a <- graph.components; b <- graph.components if a.head < b.head) yield (set(a), set(b))
    new Hypergraph(
      graph.size,
      graph.neighbors.map(set(_).bits).toArray,
      (graph.hyperedges.map { case (l, r) => (set(l), set(r)) } ++ crossings).toArray
    )
  }
}
