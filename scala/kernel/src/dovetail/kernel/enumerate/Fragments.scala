package dovetail.kernel.enumerate

import dovetail.kernel.cost.{CostModel, SubPlan}
import dovetail.kernel.graph.{JoinGraph, Step, WideSet}

/**
 * A sub-plan with the relations that it covers. A search that combines fragments treats each as one relation, however
 * many relations it covers.
 *
 * @param neighbors relations that an edge connects with a single one of its relations
 * @param closed    whether it consists of whole connected components
 */
final class Fragment(val relations: WideSet, val neighbors: WideSet, val closed: Boolean, val plan: SubPlan) {
  def cost: Double = plan.leastCost

  /** The same relations and sizes, not yet priced. */
  def unpriced: Fragment = new Fragment(relations, neighbors, closed, plan.unpriced)
}

/**
 * Creates, sizes and prices fragments. Together with `connections`, it is all that a search over fragments knows about
 * the graph.
 */
final class Fragments(graph: JoinGraph, sizer: Sizer, costs: CostModel, val connections: Connections) {
  def this(graph: JoinGraph, sizer: Sizer, costs: CostModel) = this(graph, sizer, costs, Connections(graph))

  /** Number of relations of the graph. */
  def size: Int = graph.size

  def leaf(r: Int): Fragment = {
    val relations = WideSet(graph.size, Seq(r))
    new Fragment(relations, connections.neighbors(r), connections.closed(relations), sizer.leaf(r, costs))
  }

  /** The union of the two, sized but not yet priced. */
  def union(a: Fragment, b: Fragment): Fragment = {
    val relations = a.relations | b.relations; union(a, b, relations, sizer.join(relations))
  }

  /** The same with a known size, that of `plan`. */
  def union(a: Fragment, b: Fragment, plan: SubPlan): Fragment = union(a, b, a.relations | b.relations, plan.unpriced)

  private def union(a: Fragment, b: Fragment, relations: WideSet, plan: SubPlan) =
    new Fragment(relations, a.neighbors | b.neighbors, connections.closed(relations), plan)

  /** The relations of alternative `i` of a plan, in the order of its leaves. */
  def leaves(plan: SubPlan, i: Int): Vector[Fragment] = Shape.of(plan, i).leaves.map(leaf)

  /** How a search may join the two. None if no edge connects them or the graph does not allow the join. */
  def step(a: Fragment, b: Fragment): Option[Step] =
    if (connections.connected(a, b)) connections.between(a, b) else None

  /** Offers the ways of joining the two to `out`. */
  def join(a: Fragment, b: Fragment, out: Fragment, step: Step): Unit =
    sizer.price(a.plan, b.plan, out.plan, step, costs)(sizer.looseEquality(a.relations.contains, b.relations.contains))

  /** The same for two fragments that some plan already joins, whether along an edge or not. */
  def joinAgain(a: Fragment, b: Fragment, out: Fragment): Unit = join(a, b, out, connections.between(a, b).get)
}

object Fragments {

  /**
   * The plans of a tree: the cheapest ways to execute exactly these joins. None if operators do not allow one of them.
   */
  def priced(shape: Shape, parts: Fragments): Option[Fragment] = shape match {
    case Shape.Leaf(r)    => Some(parts.leaf(r))
    case Shape.Join(l, r) =>
      for (left <- priced(l, parts); right <- priced(r, parts); step <- parts.connections.between(left, right)) yield {
        val out = parts.union(left, right)
        parts.join(left, right, out, step)
        out
      }
  }
}
