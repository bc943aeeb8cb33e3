package dovetail.kernel.enumerate

import java.util.{Comparator, PriorityQueue}

import scala.annotation.tailrec
import scala.collection.mutable

import dovetail.kernel.cost.{CostModel, SubPlan}
import dovetail.kernel.estimate.Assumptions
import dovetail.kernel.graph.JoinGraph

/**
 * Greedy operator ordering: joins, again and again, the two connected clusters whose join has the fewest rows.
 *
 * Fegaras, "A New Heuristic for Optimizing Large Queries", DEXA 1998. Any number of relations, bushy trees, O(e log e) estimates for e edges. Clusters
 * that no edge connects are joined last, the smallest first. Ties go to the cluster with the first relation, so the result is deterministic.
 *
 * Where we depart: a cluster that meets only one half of a new one is expected to keep the same share of pairs with all of it as it did with that half,
 * so its rows are worked out and not estimated; an estimate takes as long as the set is large, and a star of 1,000 would need half a million of them.
 * A candidate is estimated when its turn comes, and waits for another if it turns out larger.
 */
final class Greedy(graph: JoinGraph, sizer: Sizer, costs: CostModel) {

  /** Its relations are ascending; with each neighbour stands the share of pairs that the edges there keep. */
  final private class Cluster(val relations: Array[Int], val plan: SubPlan) {
    var alive                                             = true
    lazy val members: mutable.BitSet                      = mutable.BitSet(relations.toIndexedSeq: _*)
    def first: Int                                        = relations(0)
    val neighbors: mutable.LinkedHashMap[Cluster, Double] = mutable.LinkedHashMap.empty
  }

  /** @param sized its rows were estimated, and not worked out */
  final private class Candidate(val a: Cluster, val b: Cluster, val rows: Double, val bytes: Double, val sized: Boolean) {
    def alive: Boolean = a.alive && b.alive
  }

  private val byRows: Comparator[Candidate] = new Comparator[Candidate] {
    def compare(x: Candidate, y: Candidate): Int = {
      val rows  = java.lang.Double.compare(x.rows, y.rows)
      val bytes = if (rows != 0) rows else java.lang.Double.compare(x.bytes, y.bytes)
      if (bytes != 0) bytes else if (x.a.first != y.a.first) Integer.compare(x.a.first, y.a.first) else Integer.compare(x.b.first, y.b.first)
    }
  }

  private val queue  = new PriorityQueue[Candidate](byRows)
  private var enough = Greedy.QueueSize
  private var count  = 0L

  /** Pairs considered. */
  def pairs: Long = count

  def run(): SubPlan = {
    val clusters = graph.relations.map(r => new Cluster(Array(r.index), sizer.leaf(r.index))).toArray
    for (a <- clusters; b <- graph.neighbors(a.first)) a.neighbors(clusters(b)) = 1.0
    for (a <- clusters; b <- graph.neighbors(a.first) if a.first < b) consider(estimated(a, clusters(b)))
    var alive = clusters.toVector
    while (alive.size > 1) {
      val next = poll().getOrElse(farther(alive))
      val c    = merge(next)
      alive = alive.filter(_.alive) :+ c
    }
    alive.head.plan
  }

  /** The smallest candidate; one that comes out larger than it was expected to be goes back, and is not sized again. */
  @tailrec private def poll(): Option[Candidate] = {
    val c = queue.poll()
    if (c == null) None
    else if (!c.alive) poll()
    else if (c.sized || tooLarge(c.a, c.b)) Some(c)
    else {
      val now  = estimated(c.a, c.b)
      val next = queue.peek()
      if (next == null || now.rows <= next.rows * Greedy.Same) Some(now) else { queue.add(now); poll() }
    }
  }

  private def consider(c: Candidate): Unit = {
    val share = c.rows / (c.a.plan.rows * c.b.plan.rows)
    c.a.neighbors(c.b) = share
    c.b.neighbors(c.a) = share
    queue.add(c)
  }

  private def tooLarge(x: Cluster, y: Cluster): Boolean = x.relations.length + y.relations.length > Greedy.Estimated

  private def estimated(x: Cluster, y: Cluster): Candidate = { val plan = sizer.join(relations(x, y)); candidate(x, y, plan.rows, plan.bytes, sized = true) }

  private def inProportion(x: Cluster, y: Cluster, kept: Double): Candidate = {
    val rows = math.max(1.0, x.plan.rows * y.plan.rows * kept)
    candidate(x, y, rows, rows * (x.plan.bytes / x.plan.rows + y.plan.bytes / y.plan.rows - Assumptions.RowOverhead), sized = false)
  }

  private def candidate(x: Cluster, y: Cluster, rows: Double, bytes: Double, sized: Boolean): Candidate =
    if (x.first < y.first) new Candidate(x, y, rows, bytes, sized) else new Candidate(y, x, rows, bytes, sized)

  private def relations(x: Cluster, y: Cluster): Array[Int] = { val all = x.relations ++ y.relations; java.util.Arrays.sort(all); all }

  private def merge(c: Candidate): Cluster = {
    count += 1
    val (l, r) = (c.a.plan, c.b.plan)
    val joined = new Cluster(relations(c.a, c.b), sizer.join(relations(c.a, c.b)))
    val key    = l.classes & r.classes
    costs.join(l, r, joined.plan, key, key != 0L || sizer.looseEquality(c.a.members, c.b.members))
    c.a.alive = false
    c.b.alive = false
    for (n <- (c.a.neighbors.keysIterator ++ c.b.neighbors.keysIterator).toVector.distinct if n.alive) {
      val (toA, toB) = (n.neighbors.remove(c.a), n.neighbors.remove(c.b))
      val ofBoth     = toA.isDefined && toB.isDefined && !tooLarge(joined, n)
      consider(if (ofBoth) estimated(joined, n) else inProportion(joined, n, math.min(toA.getOrElse(1.0), toB.getOrElse(1.0))))
    }
    forgetDead()
    joined
  }

  /** Keeps the queue as small as what is alive in it. */
  private def forgetDead(): Unit = if (queue.size > enough) {
    queue.removeIf((c: Candidate) => !c.alive)
    enough = 2 * queue.size + Greedy.QueueSize
  }

  /** No edge is left: an equality over several relations that now has both sides, else the two smallest clusters. */
  private def farther(alive: Vector[Cluster]): Candidate = {
    val bySides = for {
      (l, r) <- graph.hyperedges.iterator
      a      <- alive.iterator if l.forall(a.members)
      b      <- alive.iterator if (b ne a) && r.forall(b.members)
    } yield estimated(a, b)
    bySides.toVector.sortWith((x, y) => byRows.compare(x, y) < 0).headOption.getOrElse {
      val smallest = alive.sortBy(c => (c.plan.rows, c.first))
      estimated(smallest(0), smallest(1))
    }
  }
}

object Greedy {

  /** Relations of the largest candidates that are estimated; what is joined in the end is estimated in any case. */
  private val Estimated = 100

  /** Rows within this factor are the same: they were multiplied in another order. */
  private val Same = 1.0 + 1e-9

  /** Candidates that the queue may hold before the dead ones are cleared out. */
  private val QueueSize = 4096
}
