package dovetail.kernel.enumerate

import dovetail.kernel.cost.{CostModel, SubPlan}
import dovetail.kernel.graph.{JoinGraph, Step, WideSet}

/**
 * A sub-plan with the relations it covers. To the search that puts it together with others it is one relation, however
 * many it holds.
 *
 * @param neighbors what an edge connects with a single one of its relations
 * @param closed    it is made of whole connected components
 */
final class Fragment(val relations: WideSet, val neighbors: WideSet, val closed: Boolean, val plan: SubPlan) {
  def cost: Double = plan.cost(plan.best)

  /** The same relations and sizes, yet unpriced. */
  def unpriced: Fragment = new Fragment(relations, neighbors, closed, plan.unpriced)
}

/** Makes parts, sizes and prices them: with `connections`, all that a search over parts knows of the graph. */
final class Fragments(graph: JoinGraph, sizer: Sizer, costs: CostModel, val connections: Connections) {
  def this(graph: JoinGraph, sizer: Sizer, costs: CostModel) = this(graph, sizer, costs, Connections(graph))

  /** Relations of the graph. */
  def size: Int = graph.size

  def leaf(r: Int): Fragment = {
    val relations = WideSet(graph.size, Seq(r))
    new Fragment(relations, connections.neighbors(r), connections.closed(relations), sizer.leaf(r, costs))
  }

  /** The two together, sized, yet unpriced. */
  def union(a: Fragment, b: Fragment): Fragment = {
    val relations = a.relations | b.relations; union(a, b, relations, sizer.join(relations))
  }

  /** The same with a size that is known, of `plan`. */
  def union(a: Fragment, b: Fragment, plan: SubPlan): Fragment = union(a, b, a.relations | b.relations, plan.unpriced)

  private def union(a: Fragment, b: Fragment, relations: WideSet, plan: SubPlan) =
    new Fragment(relations, a.neighbors | b.neighbors, connections.closed(relations), plan)

  /** The relations of alternative `i` of a plan, as they stand in its tree. */
  def leaves(plan: SubPlan, i: Int): Vector[Fragment] =
    if (plan.relation >= 0) Vector(leaf(plan.relation))
    else leaves(plan.left(i), plan.leftAlternative(i)) ++ leaves(plan.right(i), plan.rightAlternative(i))

  /** How a search may join the two: an edge connects them, and the graph allows it. */
  def step(a: Fragment, b: Fragment): Option[Step] =
    if (connections.connected(a, b)) connections.between(a, b) else None

  /** Offers the ways of joining the two to `out`. */
  def join(a: Fragment, b: Fragment, out: Fragment, step: Step): Unit =
    sizer.price(a.plan, b.plan, out.plan, step, costs)(sizer.looseEquality(a.relations.contains, b.relations.contains))

  /** The same for two that some plan joins already, be it along an edge or not. */
  def joinAgain(a: Fragment, b: Fragment, out: Fragment): Unit = join(a, b, out, connections.between(a, b).get)
}

object Fragments {

  /**
   * The plans of a tree: the cheapest ways to execute exactly these joins. None where operators do not allow one of
   * them.
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
