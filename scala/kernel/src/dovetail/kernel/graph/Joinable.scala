package dovetail.kernel.graph

import scala.collection.immutable.BitSet

/**
 * How two sets of relations are joined.
 *
 * @param operator the operator that joins them; none for an inner join
 * @param swapped  the operator's left input is the second of the two sets
 */
final case class Step(kind: JoinKind, operator: Option[Operator], swapped: Boolean)

object Step {
  val Inner: Step = Step(JoinKind.Inner, None, swapped = false)
}

/**
 * Whether two disjoint sets of relations may be joined, and how: the one question that every enumerator asks. Both have to be sets that may be joined
 * themselves; the answer is a function of the two sets, whatever order made them.
 *
 * A predicate or operator is applied at the join that first has all that it needs ([[ConflictRules]]). So a pair may be joined
 *
 *  - by the one operator whose needs it completes, if they are on the right sides,
 *  - by an inner join, if it completes none, and the two sides have something of the same level; no predicate has to connect them,
 *  - and not at all if it completes two operators, or one whose sides are mixed up, or if a conflict rule of what it completes is broken: what is not
 *    applied here never would be.
 */
final class Joinable(graph: JoinGraph) {
  import Joinable._

  val conflicts: ConflictRules = new ConflictRules(graph)

  private val length                        = (graph.size + 63) / 64
  private def words(s: BitSet): Array[Long] = java.util.Arrays.copyOf(s.toBitMask, length)

  private val operators: Array[Link] = graph.operators.map { o =>
    val needs = conflicts.operators(o.index)
    new Link(o, needs, words(needs.all & BitSet(o.left: _*)), words(needs.all & BitSet(o.right: _*)))
  }.toArray
  // those of one level need nothing but what they read, and have no rules
  private val filters: Array[Limits] = graph.predicates.filterNot(p => conflicts.pure(p.index)).map(p => new Limits(conflicts.predicates(p.index))).toArray
  private val levels: Array[Array[Array[Long]]] =
    conflicts.items.toVector.sortBy(_._1).map(_._2).filter(_.size > 1).map(_.map(words).toArray).toArray

  def between(left: RelSet, right: RelSet): Option[Step] = if (free) Inner else step(Array(left.bits), Array(right.bits))

  /** For graphs of any size. */
  def between(left: collection.BitSet, right: collection.BitSet): Option[Step] =
    if (free) Inner else step(java.util.Arrays.copyOf(left.toBitMask, length), java.util.Arrays.copyOf(right.toBitMask, length))

  /** The predicates that are applied where `left` and `right` join: above the join if an operator joins them, else as its condition. */
  def predicatesAt(left: Iterable[Int], right: Iterable[Int]): Vector[JoinPredicate] = {
    val (l, r) = (BitSet(left.toSeq: _*), BitSet(right.toSeq: _*))
    graph.predicates.filter { p =>
      val all = conflicts.predicates(p.index).all; all.subsetOf(l | r) && !all.subsetOf(l) && !all.subsetOf(r)
    }
  }

  /** There are no operators: all may be joined with all. */
  private def free: Boolean = operators.isEmpty

  private def step(left: Array[Long], right: Array[Long]): Option[Step] = {
    val both          = union(left, right)
    var joining: Link = null
    var i             = 0
    while (i < operators.length) {
      val o = operators(i)
      if (o.completedBy(left, right, both)) { if (joining != null) return None; joining = o }
      i += 1
    }
    i = 0
    while (i < filters.length) { if (filters(i).completedBy(left, right, both) && !filters(i).allows(both)) return None; i += 1 }
    if (joining == null) { if (sameLevel(left, right)) Inner else None }
    else if (!joining.allows(both)) None
    else if (within(joining.left, left) && within(joining.right, right)) joining.straight
    else if (within(joining.left, right) && within(joining.right, left)) joining.swapped
    else None
  }

  private def sameLevel(left: Array[Long], right: Array[Long]): Boolean =
    levels.exists(items => items.exists(within(_, left)) && items.exists(within(_, right)))
}

object Joinable {
  private val Inner: Option[Step] = Some(Step.Inner)

  private class Limits(needs: ConflictRules.Needs) {
    private val all                     = needs.all.toBitMask
    private val rules                   = needs.rules.map(r => (r.ifAny.toBitMask, r.thenAll.toBitMask)).toArray
    def allows(s: Array[Long]): Boolean = rules.forall { case (ifAny, thenAll) => !overlap(ifAny, s) || within(thenAll, s) }

    def completedBy(left: Array[Long], right: Array[Long], both: Array[Long]): Boolean = within(all, both) && !within(all, left) && !within(all, right)
  }

  final private class Link(operator: Operator, needs: ConflictRules.Needs, val left: Array[Long], val right: Array[Long]) extends Limits(needs) {
    val straight: Option[Step] = Some(Step(operator.kind, Some(operator), swapped = false))
    val swapped: Option[Step]  = Some(Step(operator.kind, Some(operator), swapped = true))
  }

  // sets as words of 64 relations; the first of two may have fewer words
  private def within(a: Array[Long], b: Array[Long]): Boolean    = { var i = 0; while (i < a.length) { if ((a(i) & ~b(i)) != 0L) return false; i += 1 }; true }
  private def overlap(a: Array[Long], b: Array[Long]): Boolean   = { var i = 0; while (i < a.length) { if ((a(i) & b(i)) != 0L) return true; i += 1 }; false }
  private def union(a: Array[Long], b: Array[Long]): Array[Long] = {
    val u = new Array[Long](a.length); var i = 0; while (i < u.length) { u(i) = a(i) | b(i); i += 1 }; u
  }
}
