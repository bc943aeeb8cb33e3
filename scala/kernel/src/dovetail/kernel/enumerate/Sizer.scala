package dovetail.kernel.enumerate

import dovetail.kernel.cost.SubPlan
import dovetail.kernel.estimate.{Assumptions, CardinalityModel}
import dovetail.kernel.graph.{JoinGraph, RelSet, WideSet}

/** Makes the sized, yet unpriced [[SubPlan]] of a relation or of a join: the one place where a search asks for sizes. */
final class Sizer(graph: JoinGraph, model: CardinalityModel) {
  private val classMasks: Array[Long] =
    graph.classesOf.map(_.foldLeft(0L)((m, c) => m | SubPlan.classBit(c))).toArray
  private val widths: Array[Double] = graph.relations.map(_.rowBytes).toArray
  private val buffer                = new Array[Int](graph.size)

  // hash-joinable predicates that belong to no class
  private val equalities: Vector[(Set[Int], Set[Int])] = graph.predicates.flatMap(_.sides).map { case (l, r) => (l.toSet, r.toSet) }

  def leaf(r: Int): SubPlan = {
    val relation = graph.relations(r)
    val rows     = math.max(relation.profile.rows.value, 1.0)
    val plan     = new SubPlan(r, rows, rows * widths(r), classMasks(r), relation.broadcastable, math.max(relation.profile.rows.upper, 1.0) * widths(r))
    plan.offer(0.0, 0L, null, null, 0, null, 0, 0.0)
    plan
  }

  def join(relations: Array[Int]): SubPlan = { System.arraycopy(relations, 0, buffer, 0, relations.length); joinOf(relations.length) }

  def join(set: RelSet): SubPlan = {
    var bits = set.bits
    var n    = 0
    while (bits != 0L) { buffer(n) = java.lang.Long.numberOfTrailingZeros(bits); n += 1; bits &= bits - 1 }
    joinOf(n)
  }

  def join(set: WideSet): SubPlan = joinOf(set.copyTo(buffer))

  private def joinOf(n: Int): SubPlan = {
    val rows  = model.rowsOf(buffer, n)
    var width = Assumptions.RowOverhead
    var mask  = 0L
    var i     = 0
    while (i < n) { width += widths(buffer(i)) - Assumptions.RowOverhead; mask |= classMasks(buffer(i)); i += 1 }
    new SubPlan(-1, rows, rows * width, mask, broadcast = false, model.cautiousRows * width)
  }

  val hasLooseEqualities: Boolean = equalities.nonEmpty

  /** An equality outside of all classes connects the two sets of relations. */
  def looseEquality(left: Int => Boolean, right: Int => Boolean): Boolean =
    equalities.exists { case (l, r) => (l.forall(left) && r.forall(right)) || (l.forall(right) && r.forall(left)) }
}
