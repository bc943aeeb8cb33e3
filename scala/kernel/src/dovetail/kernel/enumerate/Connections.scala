package dovetail.kernel.enumerate

import dovetail.kernel.graph.{JoinGraph, Step, WideSet}

/**
 * Answers what the searches for graphs of any size ask about fragments: where edges lead, and whether two connected
 * fragments may be joined. A pair that may not be joined is left out. A search that finds no plan for this reason
 * returns the plan that it was given.
 */
trait Connections {

  /** How two disjoint fragments are joined, whether an edge connects them or not. None if they may not be joined. */
  def between(left: Fragment, right: Fragment): Option[Step]

  /** Whether some edge leads from one to the other, or they may be joined without an edge. */
  def connected(left: Fragment, right: Fragment): Boolean

  /** Whether some connected fragments may not be joined. */
  def restricted: Boolean

  /** Relations that an edge connects with `r` alone. */
  def neighbors(r: Int): WideSet

  /** Edges with more than one relation on a side. */
  def hyperedges: Vector[(WideSet, WideSet)]

  /**
   * Whether `set` consists of whole connected components. Such a set may be joined with another such set, although no
   * edge connects them.
   */
  def closed(set: WideSet): Boolean
}

object Connections {
  def apply(graph: JoinGraph): Connections = if (graph.operators.isEmpty) new InnerJoins(graph) else new AllJoins(graph)
}

/** Inner joins: fragments that an edge connects may be joined, and so may whole components. */
final class InnerJoins(graph: JoinGraph) extends Connections {
  private def set(relations: Iterable[Int]) = WideSet(graph.size, relations)

  private val adjacent: Array[WideSet]         = graph.neighbors.map(set).toArray
  private val components: Array[WideSet]       = graph.components.map(set).toArray
  val hyperedges: Vector[(WideSet, WideSet)]   = graph.hyperedges.map { case (l, r) => (set(l), set(r)) }
  private val sides: Array[(WideSet, WideSet)] = hyperedges.toArray
  private val inner: Option[Step]              = Some(Step.Inner)

  def between(left: Fragment, right: Fragment): Option[Step] = inner

  def restricted: Boolean = false

  def neighbors(r: Int): WideSet = adjacent(r)

  def closed(set: WideSet): Boolean =
    components.length > 1 && components.forall(c => !c.overlaps(set) || c.isSubsetOf(set))

  def connected(left: Fragment, right: Fragment): Boolean =
    left.neighbors.overlaps(right.relations) || hyperedge(left, right) || (left.closed && right.closed)

  private def hyperedge(left: Fragment, right: Fragment): Boolean = {
    var i = 0
    while (i < sides.length) {
      val (a, b)                              = sides(i)
      def leads(from: Fragment, to: Fragment) = a.isSubsetOf(from.relations) && b.isSubsetOf(to.relations)
      if (leads(left, right) || leads(right, left)) return true
      i += 1
    }
    false
  }
}

/**
 * All kinds of joins: the edges of [[dovetail.kernel.graph.Edges]], including those between pieces that nothing else
 * connects, and the decisions of [[dovetail.kernel.graph.Joinable]].
 */
final class AllJoins(graph: JoinGraph) extends Connections {
  private def set(relations: Iterable[Int]) = WideSet(graph.size, relations)

  private val (simple, hyper) = graph.edges.all.partition { case (l, r) => l.size == 1 && r.size == 1 }

  private val adjacent: Array[WideSet] = {
    val found = Array.fill(graph.size)(Vector.newBuilder[Int])
    simple.foreach { case (l, r) => found(l.head) += r.head; found(r.head) += l.head }
    found.map(b => set(b.result()))
  }

  val hyperedges: Vector[(WideSet, WideSet)] = hyper.map { case (l, r) => (set(l), set(r)) }

  def between(left: Fragment, right: Fragment): Option[Step] = graph.joinable.between(left.relations, right.relations)

  def connected(left: Fragment, right: Fragment): Boolean =
    left.neighbors.overlaps(right.relations) || graph.edges.connect(left.relations, right.relations)

  def restricted: Boolean = true

  def neighbors(r: Int): WideSet = adjacent(r)

  def closed(set: WideSet): Boolean = false
}
