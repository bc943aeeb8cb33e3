package dovetail.kernel.graph

import scala.collection.immutable.BitSet

/**
 * How two sets of relations are joined.
 *
 * @param operator operator that joins them, or None for an inner join
 * @param swapped  whether the operator's left input is the second of the two sets
 */
final case class Step(kind: JoinKind, operator: Option[Operator], swapped: Boolean)

object Step {
  val Inner: Step = Step(JoinKind.Inner, None, swapped = false)
}

/**
 * Decides whether two disjoint sets of relations may be joined, and how. Every enumerator asks only this question. Each
 * of the two sets must itself be one that may be joined. The answer depends only on the two sets, not on the order in
 * which they were built.
 *
 * A predicate or operator is applied at the first join that has all relations it needs ([[ConflictRules]]). So a pair
 * is joined
 *
 *  - by an operator, if this is the only operator whose needs the pair completes, and its left and right relations are
 *    not mixed between the two sets,
 *  - by an inner join, if the pair completes no operator and both sets contain items of the same level; no predicate
 *    has to connect the sets,
 *  - and not at all if it completes two operators, or an operator whose sides are mixed, or if it breaks a conflict
 *    rule of an operator or predicate that it completes. No later join could apply what this join does not apply.
 */
final class Joinable(graph: JoinGraph) {
  import Joinable._
  import Words._

  val conflicts: ConflictRules = new ConflictRules(graph)

  private val words = new Words(graph.size)

  private val operators: Array[Link] = graph.operators.map { o =>
    val needs = conflicts.operators(o.index)
    new Link(
      words,
      o,
      needs,
      words.packed(needs.all & BitSet(o.left: _*)),
      words.packed(needs.all & BitSet(o.right: _*))
    )
  }.toArray
  // predicates of a single level need only the relations that they read and have no rules, so they are left out
  private val filters: Array[Limits] =
    graph.predicates.filterNot(p => conflicts.pure(p.index)).map(p =>
      new Limits(words, conflicts.predicates(p.index))
    ).toArray
  // operators and filters by each relation that they need
  private val operatorsOf: Array[Array[Link]]   = Array.tabulate(graph.size)(r => operators.filter(_.needs(r)))
  private val filtersOf: Array[Array[Limits]]   = Array.tabulate(graph.size)(r => filters.filter(_.needs(r)))
  private val levels: Array[Array[Array[Long]]] =
    conflicts.items.toVector.sortBy(_._1).map(_._2).filter(_.size > 1).map(_.map(words.packed(_)).toArray).toArray

  def between(left: RelSet, right: RelSet): Option[Step] =
    if (free) Inner else step(Array(left.bits), Array(right.bits))

  /** The same for graphs of any size. */
  def between(left: WideSet, right: WideSet): Option[Step] = if (free) Inner else step(left.words, right.words)

  /**
   * The predicates that the join of `left` and `right` applies: above the join if an operator joins the sets, otherwise
   * as part of the join condition.
   */
  def predicatesAt(left: Iterable[Int], right: Iterable[Int]): Vector[JoinPredicate] = {
    val (l, r) = (BitSet(left.toSeq: _*), BitSet(right.toSeq: _*))
    graph.predicates.filter { p =>
      val all = conflicts.predicates(p.index).all; all.subsetOf(l | r) && !all.subsetOf(l) && !all.subsetOf(r)
    }
  }

  /** Whether the graph has no operators, so that any two sets may be joined. */
  private def free: Boolean = operators.isEmpty

  private def step(left: Array[Long], right: Array[Long]): Option[Step] = {
    val both          = union(left, right)
    var joining: Link = null
    // everything that the pair completes needs a relation of the smaller set; an operator is checked once, at the first
    // relation of that set that it needs
    val small  = if (count(left) <= count(right)) left else right
    var broken = false
    var w      = 0
    while (w < words.length && !broken) {
      var bits = small(w)
      while (bits != 0L && !broken) {
        val r  = w * 64 + java.lang.Long.numberOfTrailingZeros(bits)
        val os = operatorsOf(r)
        var i  = 0
        while (i < os.length) {
          if (os(i).completedBy(left, right, both) && os(i).firstOf(small) == r) {
            if (joining == null) joining = os(i) else broken = true
          }
          i += 1
        }
        val fs = filtersOf(r)
        i = 0
        while (i < fs.length) { if (fs(i).completedBy(left, right, both) && !fs(i).allows(both)) broken = true; i += 1 }
        bits &= bits - 1
      }
      w += 1
    }
    if (broken) None
    else if (joining == null) { if (sameLevel(left, right)) Inner else None }
    else if (!joining.allows(both)) None
    else if (within(joining.left, left) && within(joining.right, right)) joining.straight
    else if (within(joining.left, right) && within(joining.right, left)) joining.swapped
    else None
  }

  private def sameLevel(left: Array[Long], right: Array[Long]): Boolean =
    levels.exists(items => items.exists(within(_, left)) && items.exists(within(_, right)))
}

object Joinable {
  import Words.Mask

  private val Inner: Option[Step] = Some(Step.Inner)

  private class Limits(words: Words, limits: ConflictRules.Needs) {
    private val all     = new Mask(words.packed(limits.all))
    private val ifAny   = limits.rules.map(r => new Mask(words.packed(r.ifAny))).toArray
    private val thenAll = limits.rules.map(r => new Mask(words.packed(r.thenAll))).toArray

    def allows(s: Array[Long]): Boolean = {
      var i = 0
      while (i < ifAny.length && !(ifAny(i).overlaps(s) && !thenAll(i).within(s))) i += 1
      i == ifAny.length
    }

    def needs(relation: Int): Boolean = limits.all(relation)

    /** The first of the needed relations in `s`. */
    def firstOf(s: Array[Long]): Int = Words.first(Words.common(all.words, s))

    def completedBy(left: Array[Long], right: Array[Long], both: Array[Long]): Boolean =
      all.within(both) && !all.within(left) && !all.within(right)
  }

  final private class Link(
      words: Words,
      operator: Operator,
      limits: ConflictRules.Needs,
      val left: Array[Long],
      val right: Array[Long]
  ) extends Limits(words, limits) {
    val straight: Option[Step] = Some(Step(operator.kind, Some(operator), swapped = false))
    val swapped: Option[Step]  = Some(Step(operator.kind, Some(operator), swapped = true))
  }
}
