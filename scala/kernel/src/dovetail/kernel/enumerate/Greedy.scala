package dovetail.kernel.enumerate

import java.util.{Comparator, PriorityQueue}

import scala.annotation.tailrec
import scala.collection.mutable

import dovetail.kernel.cost.{CostModel, SubPlan}
import dovetail.kernel.graph.{JoinGraph, Step, WideSet}
import dovetail.kernel.profile.Assumptions

/**
 * Greedy operator ordering: repeatedly joins the two connected clusters whose join has the fewest rows.
 *
 * Fegaras, "A New Heuristic for Optimizing Large Queries", DEXA 1998. Any number of relations, bushy trees, O(e log e)
 * estimates for e edges. Clusters that no edge connects are joined last, the smallest first. In a tie, the cluster with
 * the first relation wins, so the result is deterministic. With operators, only pairs that may be joined are
 * candidates. The search can then get stuck before everything is joined. Time may also end it, because the written
 * order is a plan as well.
 *
 * Where we depart: if only one half of a new cluster has an edge to another cluster, we assume that the join with the
 * whole keeps the same share of pairs as the join with that half. The rows of this join are then computed and not
 * estimated. An estimate takes time in proportion to the size of the set, and a star of 1,000 relations would need half
 * a million estimates. A candidate is estimated when its turn comes. If it turns out larger than another one, it waits
 * for that one.
 *
 * @param budget its time limits the search of graphs with operators, its end limits every search
 */
final class Greedy(graph: JoinGraph, sizer: Sizer, costs: CostModel, budget: Budget = Budget.unlimited) {
  import Greedy._

  /**
   * A set of joined relations, ascending, with its plan. For each neighbor, it holds the share of pairs that the edges
   * between the two keep, after the two were a candidate.
   */
  final private class Cluster(val relations: Array[Int], val plan: SubPlan) {
    var alive                                             = true
    lazy val members: WideSet                             = WideSet(graph.size, relations)
    def first: Int                                        = relations(0)
    val neighbors: mutable.LinkedHashMap[Cluster, Double] = mutable.LinkedHashMap.empty
  }

  /** @param sized whether its rows were estimated, and not computed from a share of pairs */
  final private class Candidate(
      val a: Cluster,
      val b: Cluster,
      val step: Step,
      val rows: Double,
      val bytes: Double,
      val sized: Boolean
  ) {
    def alive: Boolean = a.alive && b.alive
  }

  private val byRows: Comparator[Candidate] = new Comparator[Candidate] {
    def compare(x: Candidate, y: Candidate): Int = {
      val rows  = java.lang.Double.compare(x.rows, y.rows)
      val bytes = if (rows != 0) rows else java.lang.Double.compare(x.bytes, y.bytes)
      if (bytes != 0) bytes
      else if (x.a.first != y.a.first) Integer.compare(x.a.first, y.a.first) else Integer.compare(x.b.first, y.b.first)
    }
  }

  private val queue  = new PriorityQueue[Candidate](byRows)
  private var enough = QueueSize
  private var count  = 0L

  /** Number of pairs considered. */
  def pairs: Long = count

  private def late: Boolean = if (sizer.innerOnly) budget.over else !budget.timeLeft

  /**
   * Returns the plan found. None if the first joins leave only joins that the graph's operators do not allow, or if
   * time ran out.
   */
  def run(): Option[SubPlan] = {
    val clusters = graph.relations.map(r => new Cluster(Array(r.index), sizer.leaf(r.index, costs))).toArray
    val partners = if (sizer.innerOnly) graph.neighbors else graph.edges.near
    for (a <- clusters; b <- partners(a.first)) a.neighbors(clusters(b)) = Unknown
    for (a <- clusters if !late; b <- partners(a.first) if a.first < b) meet(a, clusters(b), Unknown)
    var alive = clusters.toVector
    var stuck = false
    while (alive.size > 1 && !stuck) (if (late) None else poll().orElse(farther(alive))) match {
      case Some(next) =>
        val c = merge(next)
        alive = alive.filter(_.alive) :+ c
      case None => stuck = true
    }
    if (stuck) None else Some(alive.head.plan)
  }

  /**
   * Takes the smallest candidate. A candidate that turns out larger than expected goes back into the queue and is not
   * estimated again.
   */
  @tailrec private def poll(): Option[Candidate] = {
    val c = queue.poll()
    if (c == null) None
    else if (!c.alive) poll()
    else if (c.sized || tooLarge(c.a, c.b)) Some(c)
    else {
      val now  = estimated(c.a, c.b, c.step)
      val next = queue.peek()
      if (next == null || now.rows <= next.rows * RowTolerance) Some(now) else { queue.add(now); poll() }
    }
  }

  /**
   * Makes two neighbors a candidate if they may be joined. Its rows are computed from the share of pairs `kept`, or
   * estimated if this share is unknown.
   */
  private def meet(x: Cluster, y: Cluster, kept: Double): Unit = {
    x.neighbors(y) = kept
    y.neighbors(x) = kept
    if (sizer.innerOnly || graph.edges.connect(x.members, y.members)) stepOf(x, y).foreach { step =>
      val c     = if (kept == Unknown) estimated(x, y, step) else inProportion(x, y, step, kept)
      val share = c.rows / (x.plan.rows * y.plan.rows)
      x.neighbors(y) = share
      y.neighbors(x) = share
      queue.add(c)
    }
  }

  private def tooLarge(x: Cluster, y: Cluster): Boolean = x.relations.length + y.relations.length > Estimated

  /** How the two clusters are joined, with the cluster of the first relation on the left. */
  private def stepOf(x: Cluster, y: Cluster): Option[Step] =
    if (sizer.innerOnly) Inner
    else if (x.first < y.first) graph.joinable.between(x.members, y.members)
    else graph.joinable.between(y.members, x.members)

  private def estimated(x: Cluster, y: Cluster, step: Step): Candidate = {
    val plan = sizer.join(relations(x, y)); candidate(x, y, step, plan.rows, plan.bytes, sized = true)
  }

  private def inProportion(x: Cluster, y: Cluster, step: Step, kept: Double): Candidate = {
    val rows = math.max(1.0, x.plan.rows * y.plan.rows * kept)
    candidate(
      x,
      y,
      step,
      rows,
      rows * (x.plan.bytes / x.plan.rows + y.plan.bytes / y.plan.rows - Assumptions.RowOverhead),
      sized = false
    )
  }

  private def candidate(x: Cluster, y: Cluster, step: Step, rows: Double, bytes: Double, sized: Boolean): Candidate =
    if (x.first < y.first) new Candidate(x, y, step, rows, bytes, sized)
    else new Candidate(y, x, step, rows, bytes, sized)

  private def relations(x: Cluster, y: Cluster): Array[Int] = {
    val all = x.relations ++ y.relations; java.util.Arrays.sort(all); all
  }

  private def merge(c: Candidate): Cluster = {
    count += 1
    val joined = new Cluster(relations(c.a, c.b), sizer.join(relations(c.a, c.b)))
    sizer.price(
      c.a.plan,
      c.b.plan,
      joined.plan,
      c.step,
      costs
    )(sizer.looseEquality(c.a.members.contains, c.b.members.contains))
    c.a.alive = false
    c.b.alive = false
    for (n <- (c.a.neighbors.keysIterator ++ c.b.neighbors.keysIterator).toVector.distinct if n.alive) {
      val (toA, toB) = (n.neighbors.remove(c.a), n.neighbors.remove(c.b))
      val ofBoth     = toA.isDefined && toB.isDefined && !tooLarge(joined, n)
      meet(joined, n, if (ofBoth) Unknown else math.min(toA.getOrElse(Unknown), toB.getOrElse(Unknown)))
    }
    forgetDead()
    joined
  }

  /** Removes dead candidates after the queue has grown too large. */
  private def forgetDead(): Unit = if (queue.size > enough) {
    queue.removeIf((c: Candidate) => !c.alive)
    enough = 2 * queue.size + QueueSize
  }

  /**
   * Finds a candidate after no edge is left: two clusters that now contain both sides of an equality over several
   * relations, otherwise the two smallest clusters that may be joined.
   */
  private def farther(alive: Vector[Cluster]): Option[Candidate] = {
    val bySides = for {
      (l, r) <- graph.hyperedges.iterator
      a      <- alive.iterator if l.forall(a.members.contains)
      b      <- alive.iterator if (b ne a) && r.forall(b.members.contains)
      step   <- stepOf(a, b)
    } yield estimated(a, b, step)
    bySides.toVector.sortWith((x, y) => byRows.compare(x, y) < 0).headOption.orElse {
      val bySize = alive.sortBy(c => (c.plan.rows, c.first))
      val pairs  =
        for (i <- bySize.indices.iterator; if !late; j <- (0 until i).iterator; step <- stepOf(bySize(j), bySize(i)))
          yield (bySize(j), bySize(i), step)
      pairs.take(1).toVector.headOption.map { case (a, b, step) => estimated(a, b, step) }
    }
  }
}

object Greedy {

  /** Largest number of relations for which a candidate is estimated. The join that is chosen is always estimated. */
  private val Estimated = 100

  /** Row counts within this factor are equal: they were multiplied in another order. */
  private val RowTolerance = 1.0 + 1e-9

  /** Number of candidates that the queue may hold before dead ones are removed. */
  private val QueueSize = 4096

  /** Share of pairs before any candidate has shown it: greater than any real share. */
  private val Unknown = Double.PositiveInfinity

  private val Inner: Option[Step] = Some(Step.Inner)
}
