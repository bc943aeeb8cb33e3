package dovetail.kernel.enumerate

import dovetail.kernel.graph.{JoinGraph, WideSet}

/**
 * Which sub-plans may be joined with each other: the one question that the searches for graphs of any size put to the join graph. They take no for an
 * answer: a refused pair is left out, and a search that finds no plan so hands over to the next.
 */
trait Joinable {

  /** The two, which have no relation in common, may be joined as they are. */
  def apply(left: Part, right: Part): Boolean

  /** Relations that may be joined with `r` alone. */
  def neighbors(r: Int): WideSet

  /** Pairs of sets of which one has more than one relation, and that connect what holds them: hints where to look, for `apply` decides. */
  def hyperedges: Vector[(WideSet, WideSet)]

  /** `set` is made of whole connected components: it may be joined with another such set, though no edge leads there. */
  def closed(set: WideSet): Boolean
}

/** Inner joins: whatever an edge connects may be joined, and whole components with each other. */
final class InnerJoins(graph: JoinGraph) extends Joinable {
  private def set(relations: Iterable[Int]) = WideSet(graph.size, relations)

  private val adjacent: Array[WideSet]         = graph.neighbors.map(set).toArray
  private val components: Array[WideSet]       = graph.components.map(set).toArray
  val hyperedges: Vector[(WideSet, WideSet)]   = graph.hyperedges.map { case (l, r) => (set(l), set(r)) }
  private val sides: Array[(WideSet, WideSet)] = hyperedges.toArray

  def neighbors(r: Int): WideSet = adjacent(r)

  def closed(set: WideSet): Boolean = components.length > 1 && components.forall(c => !c.overlaps(set) || c.isSubsetOf(set))

  def apply(left: Part, right: Part): Boolean = left.neighbors.overlaps(right.relations) || hyperedge(left, right) || (left.closed && right.closed)

  private def hyperedge(left: Part, right: Part): Boolean = {
    var i = 0
    while (i < sides.length) {
      val (a, b) = sides(i)
      if ((a.isSubsetOf(left.relations) && b.isSubsetOf(right.relations)) || (b.isSubsetOf(left.relations) && a.isSubsetOf(right.relations))) return true
      i += 1
    }
    false
  }
}
