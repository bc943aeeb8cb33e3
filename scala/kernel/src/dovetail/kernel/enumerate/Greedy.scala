package dovetail.kernel.enumerate

import java.util.{Comparator, PriorityQueue}

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
 * Where we depart: beyond `Greedy.Estimated` relations a candidate's rows are worked out from the share of pairs that its edge kept when it was last
 * estimated. Else a star of 1,000 would estimate half a million sets of hundreds of relations. What is joined is always estimated.
 */
final class Greedy(graph: JoinGraph, sizer: Sizer, costs: CostModel) {

  /** Its relations are ascending; with each neighbour stands the share of pairs that the edges there keep. */
  final private class Cluster(val relations: Array[Int], val plan: SubPlan) {
    var alive                                             = true
    lazy val members: mutable.BitSet                      = mutable.BitSet(relations.toIndexedSeq: _*)
    def first: Int                                        = relations(0)
    val neighbors: mutable.LinkedHashMap[Cluster, Double] = mutable.LinkedHashMap.empty
  }

  final private class Candidate(val a: Cluster, val b: Cluster, val rows: Double, val bytes: Double) {
    def alive: Boolean = a.alive && b.alive
  }

  private val byRows: Comparator[Candidate] = new Comparator[Candidate] {
    def compare(x: Candidate, y: Candidate): Int = {
      val rows  = java.lang.Double.compare(x.rows, y.rows)
      val bytes = if (rows != 0) rows else java.lang.Double.compare(x.bytes, y.bytes)
      if (bytes != 0) bytes else if (x.a.first != y.a.first) Integer.compare(x.a.first, y.a.first) else Integer.compare(x.b.first, y.b.first)
    }
  }

  private val queue = new PriorityQueue[Candidate](byRows)
  private var enough = Greedy.QueueSize
  private var count  = 0L

  /** Pairs considered. */
  def pairs: Long = count

  def run(): SubPlan = {
    val clusters = graph.relations.map(r => new Cluster(Array(r.index), sizer.leaf(r.index))).toArray
    for (a <- clusters; b <- graph.neighbors(a.first)) a.neighbors(clusters(b)) = 1.0
    for (a <- clusters; b <- a.neighbors.keys.toVector if a.first < b.first) consider(a, b, 1.0)
    var alive = clusters.toVector
    while (alive.size > 1) {
      val next = poll().getOrElse(farther(alive))
      val c    = merge(next)
      alive = alive.filter(_.alive) :+ c
    }
    alive.head.plan
  }

  private def poll(): Option[Candidate] = {
    var c = queue.poll()
    while (c != null && !c.alive) c = queue.poll()
    Option(c)
  }

  /** @param kept share of pairs that the edges between the two kept when they were last estimated */
  private def consider(x: Cluster, y: Cluster, kept: Double): Unit = {
    val c     = if (x.relations.length + y.relations.length <= Greedy.Estimated) candidate(x, y) else inProportion(x, y, kept)
    val share = c.rows / (x.plan.rows * y.plan.rows)
    x.neighbors(y) = share
    y.neighbors(x) = share
    queue.add(c)
  }

  private def candidate(x: Cluster, y: Cluster): Candidate = { val plan = sized(x, y); candidate(x, y, plan.rows, plan.bytes) }

  private def inProportion(x: Cluster, y: Cluster, kept: Double): Candidate = {
    val rows = math.max(1.0, x.plan.rows * y.plan.rows * kept)
    candidate(x, y, rows, rows * (x.plan.bytes / x.plan.rows + y.plan.bytes / y.plan.rows - Assumptions.RowOverhead))
  }

  private def candidate(x: Cluster, y: Cluster, rows: Double, bytes: Double): Candidate =
    if (x.first < y.first) new Candidate(x, y, rows, bytes) else new Candidate(y, x, rows, bytes)

  private def relations(x: Cluster, y: Cluster): Array[Int] = { val all = x.relations ++ y.relations; java.util.Arrays.sort(all); all }
  private def sized(x: Cluster, y: Cluster): SubPlan        = sizer.join(relations(x, y))

  private def merge(c: Candidate): Cluster = {
    count += 1
    val (l, r, out) = (c.a.plan, c.b.plan, sized(c.a, c.b))
    val key         = l.classes & r.classes
    costs.join(l, r, out, key, key != 0L || sizer.looseEquality(c.a.members, c.b.members))
    val joined = new Cluster(relations(c.a, c.b), out)
    c.a.alive = false
    c.b.alive = false
    for (n <- (c.a.neighbors.keysIterator ++ c.b.neighbors.keysIterator).toVector.distinct if n.alive) {
      // of several edges to the same neighbour, the one that keeps least
      val kept = math.min(n.neighbors.remove(c.a).getOrElse(1.0), n.neighbors.remove(c.b).getOrElse(1.0))
      consider(joined, n, kept)
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
    } yield candidate(a, b)
    bySides.toVector.sortWith((x, y) => byRows.compare(x, y) < 0).headOption.getOrElse {
      val smallest = alive.sortBy(c => (c.plan.rows, c.first))
      candidate(smallest(0), smallest(1))
    }
  }
}

object Greedy {

  /** Relations of the largest candidates whose rows are estimated one by one; of 100 relations in a star, these are 5,000 sets, 10 ms. */
  private val Estimated = 100

  /** Candidates that the queue may hold before the dead ones are cleared out. */
  private val QueueSize = 4096
}
