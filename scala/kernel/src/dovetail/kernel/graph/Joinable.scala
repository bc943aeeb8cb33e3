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
 * Whether two disjoint sets of relations may be joined, and how: the one question that every enumerator asks. Both have
 * to be sets that may be joined themselves; the answer is a function of the two sets, whatever order made them.
 *
 * A predicate or operator is applied at the join that first has all that it needs ([[ConflictRules]]). So a pair may be
 * joined
 *
 *  - by the one operator whose needs it completes, if they are on the right sides,
 *  - by an inner join, if it completes none, and the two sides have something of the same level; no predicate has to
 *    connect them,
 *  - and not at all if it completes two operators, or one whose sides are mixed up, or if a conflict rule of what it
 *    completes is broken: what is not applied here never would be.
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
  // those of one level need nothing but what they read, and have no rules
  private val filters: Array[Limits] =
    graph.predicates.filterNot(p => conflicts.pure(p.index)).map(p =>
      new Limits(words, conflicts.predicates(p.index))
    ).toArray
  // by the relations that they need
  private val operatorsOf: Array[Array[Link]]   = Array.tabulate(graph.size)(r => operators.filter(_.needs(r)))
  private val filtersOf: Array[Array[Limits]]   = Array.tabulate(graph.size)(r => filters.filter(_.needs(r)))
  private val levels: Array[Array[Array[Long]]] =
    conflicts.items.toVector.sortBy(_._1).map(_._2).filter(_.size > 1).map(_.map(words.packed(_)).toArray).toArray

  def between(left: RelSet, right: RelSet): Option[Step] =
    if (free) Inner else step(Array(left.bits), Array(right.bits))

  /** For graphs of any size. */
  def between(left: WideSet, right: WideSet): Option[Step] = if (free) Inner else step(left.words, right.words)

  /**
   * The predicates that are applied where `left` and `right` join: above the join if an operator joins them, else as
   * its condition.
   */
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
    // whatever the pair completes has something of the smaller set, and is looked at once: with the first relation that
    // it has of it
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

    /** The first relation that it needs of those in `s`. */
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
