package dovetail.kernel.enumerate

import scala.collection.immutable.BitSet

import dovetail.kernel.cost.{BroadcastMemory, CostModel, ExchangeAbove, OperatorJoin, SubPlan}
import dovetail.kernel.graph.{JoinGraph, JoinKind, RelSet, Step, WideSet, Words}
import dovetail.kernel.profile.{Assumptions, Estimate, Width}
import dovetail.kernel.size.CardinalityModel

/**
 * Creates the sized but not yet priced [[SubPlan]] of a relation or of a join. This is the only place where a search
 * asks for sizes, keys, and which sets may be joined.
 *
 * @param reducers reducers in the plan: each removes rows of a relation until the relations of its keys are joined
 */
final class Sizer(graph: JoinGraph, val model: CardinalityModel, val reducers: Vector[Reducer] = Vector.empty) {
  import Sizer._

  /** The same sizer with these reducers. */
  def reducing(by: Vector[Reducer]): Sizer = new Sizer(graph, model, by)

  /**
   * Share of the rows of a set that reducers keep. A reducer does not count if a relation of its keys is in the set.
   */
  private def kept(has: Int => Boolean): Double =
    if (reducers.isEmpty) 1.0
    else {
      val apply = reducers.filter(r => has(r.reduced) && !r.by.exists(has))
      if (apply.isEmpty) 1.0 else Assumptions.conjunction(apply.map(_.kept))
    }

  private def kept(n: Int): Double = if (reducers.isEmpty) 1.0 else kept(within(n)(_))

  /** Whether `r` is among the first `n` relations of the buffer. */
  private def within(n: Int)(r: Int): Boolean = {
    var i = 0
    while (i < n && buffer(i) != r) i += 1
    i < n
  }

  /** Rows of the join of these relations, with bounds and source. */
  def estimate(relations: Array[Int]): Estimate = {
    val share = kept(relations.contains(_))
    val plain = model.estimate(relations)
    if (share >= 1.0) plain else plain.scaled(share)
  }

  private val classMasks: Array[Long] =
    graph.classesOf.map(_.foldLeft(0L)((m, c) => m | SubPlan.classBit(c))).toArray
  private val widths: Array[Double]  = graph.relations.map(_.width).toArray
  private val tasksOf: Array[Double] = graph.relations.map(_.tasks).toArray
  private val columns                = graph.relations.map(_.rowBytes).toArray
  private val buffer                 = new Array[Int](graph.size)

  // the classes by which the engine can only sort
  private val unhashed: Long =
    graph.classes.filterNot(_.hashable).foldLeft(0L)((mask, c) => mask | SubPlan.classBit(c.index))

  // equalities outside all classes; priced as if the engine could hash them, because they are rare
  private val equalities: Vector[(Set[Int], Set[Int])] = graph.predicates.flatMap(_.sides).map { case (l, r) =>
    (l.toSet, r.toSet)
  }

  private val keys      = new KeyFacts(graph)
  private val residuals = new Residuals(graph)

  def leaf(r: Int, costs: CostModel): SubPlan = {
    val relation = graph.relations(r)
    val rows     = math.max(relation.profile.rows.value * kept(_ == r), 1.0)
    val most     = math.max(relation.profile.rows.upper, 1.0)
    val plan     = new SubPlan(
      relation = r,
      rows = rows,
      bytes = rows * widths(r),
      classes = classMasks(r),
      broadcast = relation.broadcastable,
      cautious = BroadcastMemory(most, bytesAtMost(r, most)),
      skew = keys.skewOf(r),
      pruning = keys.pruningOf(r),
      selective = keys.selective(Array(r), 1),
      copies = relation.copies,
      most = most,
      tasks = relation.tasks
    )
    plan.beginAsInput(costs.scan(plan) + filters(r, costs), keys.partitioningOf(r))
    plan
  }

  /** Cost of the reducers on a relation. */
  def filters(r: Int, costs: CostModel): Double =
    if (reducers.isEmpty) 0.0 else reducers.filter(_.reduced == r).flatMap(x => costs.filter(x.work)).sum

  def join(relations: Array[Int]): SubPlan = {
    System.arraycopy(relations, 0, buffer, 0, relations.length); joinOf(relations.length)
  }

  def join(set: RelSet): SubPlan = {
    var bits = set.bits
    var n    = 0
    while (bits != 0L) { buffer(n) = java.lang.Long.numberOfTrailingZeros(bits); n += 1; bits &= bits - 1 }
    joinOf(n)
  }

  def join(set: WideSet): SubPlan = joinOf(set.copyTo(buffer))

  private def joinOf(n: Int): SubPlan = {
    val size   = model.sizeOf(buffer, n)
    val rows   = if (reducers.isEmpty) size.rows else math.max(1.0, size.rows * kept(n))
    val most   = size.cautious
    val output = outputColumns(n)
    var width  = Assumptions.RowOverhead + output.flags * Assumptions.FlagBytes
    var bytes  = most * output.flags * Width.Slot
    var mask   = 0L
    var tasks  = 1.0
    var i      = 0
    while (i < n) {
      val r = buffer(i)
      mask |= classMasks(r)
      tasks = math.max(tasks, tasksOf(r))
      if (output.has(r)) { width += widths(r) - Assumptions.RowOverhead; bytes += bytesAtMost(r, most) }
      i += 1
    }
    new SubPlan(
      relation = SubPlan.NoRelation,
      rows = rows,
      bytes = rows * width,
      classes = mask,
      broadcast = false,
      cautious = BroadcastMemory(most, bytes),
      skew = keys.skewOf(buffer, n),
      pruning = keys.pruningOf(buffer, n),
      selective = keys.selective(buffer, n),
      residual = residuals.shareOf(buffer, n),
      above = if (n == graph.size) keys.above(rows) else ExchangeAbove.none,
      most = most,
      tasks = tasks
    )
  }

  /** Maximum bytes of a relation's columns in `rows` rows. */
  private def bytesAtMost(r: Int, rows: Double): Double = columns(r).atMost(rows, graph.relations(r).profile.rows.upper)

  /**
   * The columns that the join of the first `n` relations of the buffer returns: all but those of relations that semi,
   * anti and existence joins in it only test.
   */
  private def outputColumns(n: Int): OutputColumns =
    if (innerOnly) OutputColumns.All
    else {
      val set    = words.packed(buffer, n)
      val hidden = new Array[Long](set.length)
      var flags  = 0
      var i      = 0
      while (i < tests.length) {
        val test = tests(i)
        if (Words.within(test.needs, set)) {
          var w = 0
          while (w < hidden.length) { hidden(w) |= test.right(w) & set(w); w += 1 }
          if (test.kind == JoinKind.Existence) flags += 1
        }
        i += 1
      }
      new OutputColumns(hidden, flags)
    }

  private val words = new Words(graph.size)
  private val tests =
    if (innerOnly) Array.empty[PartnerTest]
    else
      graph.operators
        .filter(_.kind.testsOnly)
        .map { o =>
          new PartnerTest(
            o.kind,
            words.packed(graph.joinable.conflicts.operators(o.index).all),
            words.packed(BitSet(o.right: _*))
          )
        }
        .toArray

  /** Whether there are only inner joins, so that any two sets may be joined. */
  def innerOnly: Boolean = graph.operators.isEmpty

  /** How two sets are joined, or None if they may not be joined. */
  def between(left: RelSet, right: RelSet): Option[Step] = graph.joinable.between(left, right)

  /** The same for graphs of any size. */
  def step(left: Iterable[Int], right: Iterable[Int]): Option[Step] =
    if (innerOnly) Some(Step.Inner) else graph.joinable.between(WideSet(graph.size, left), WideSet(graph.size, right))

  /** For each operator, the facts that a cost model needs. */
  val operators: Vector[OperatorJoin] = graph.operators.map { o =>
    // if an equality over several relations is part of the key, single columns do not form the key
    val equalities = if (o.wideEquality) Vector.empty else o.equalities
    OperatorJoin(
      o.kind,
      equalities.foldLeft(0L)((k, e) => k | keys.bit(e._1)),
      equalities.foldLeft(0L)((k, e) => k | keys.bit(e._2)),
      o.equi,
      o.hashable,
      o.copies,
      model.shareOfKeys(o),
      // such an equality is a hash key, and also a part of the selectivity
      if (o.wideEquality) 1.0 else o.selectivity
    )
  }

  /**
   * Offers the ways of joining two sub-plans by `step` to `out`.
   *
   * @param loose whether an equality outside all classes connects them ([[looseEquality]]); evaluated only if no class
   *              does
   */
  def price(left: SubPlan, right: SubPlan, out: SubPlan, step: Step, costs: CostModel)(loose: => Boolean): Unit =
    step.operator match {
      case None =>
        val key = left.classes & right.classes
        costs.join(left, right, out, key, key != 0L || loose, (key & unhashed) == 0L)
      case Some(o) => if (step.swapped) costs.join(right, left, out, operators(o.index))
        else costs.join(left, right, out, operators(o.index))
    }

  /** Whether an equality outside all classes connects the two sets of relations. */
  def looseEquality(left: Int => Boolean, right: Int => Boolean): Boolean =
    equalities.exists { case (l, r) => (l.forall(left) && r.forall(right)) || (l.forall(right) && r.forall(left)) }
}

object Sizer {

  /**
   * An operator that only tests whether a left row has a partner.
   *
   * @param needs relations that a set must contain for the operator to be in it
   * @param right relations of its right side, whose columns the join does not return
   */
  final private class PartnerTest(val kind: JoinKind, val needs: Array[Long], val right: Array[Long])

  /**
   * The columns that the join of a set of relations returns.
   *
   * @param hidden relations whose columns are not returned
   * @param flags  number of columns that existence joins in the set add, one each
   */
  final private class OutputColumns(hidden: Array[Long], val flags: Int) {

    /** Whether the join returns the columns of relation `r`. */
    def has(r: Int): Boolean = {
      val word = r >> 6
      word >= hidden.length || (hidden(word) >>> r & 1L) == 0L
    }
  }

  private object OutputColumns {

    /** For inner joins: every column is returned, and none is added. */
    val All: OutputColumns = new OutputColumns(Array.emptyLongArray, 0)
  }
}
