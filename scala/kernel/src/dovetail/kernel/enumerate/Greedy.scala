package dovetail.kernel.enumerate

import java.util.{Comparator, PriorityQueue}

import scala.collection.mutable

import dovetail.kernel.cost.{CostModel, SubPlan}
import dovetail.kernel.graph.{JoinGraph, Step}

/**
 * Greedy operator ordering: joins, again and again, the two connected clusters whose join has the fewest rows.
 *
 * Fegaras, "A New Heuristic for Optimizing Large Queries", DEXA 1998. Any number of relations, bushy trees, O(e log e) estimates for e edges. Clusters
 * that no edge connects are joined last, the smallest first. With operators only pairs that may be joined are candidates, and it can come to an end before
 * all is joined. Ties go to the cluster with the first relation, so the result is deterministic.
 */
final class Greedy(graph: JoinGraph, sizer: Sizer, costs: CostModel) {

  final private class Cluster(val relations: Array[Int], val plan: SubPlan) {
    var alive                                     = true
    val members: mutable.BitSet                   = mutable.BitSet(relations.toIndexedSeq: _*)
    def first: Int                                = relations(0)
    val neighbors: mutable.LinkedHashSet[Cluster] = mutable.LinkedHashSet.empty
  }

  final private class Candidate(val a: Cluster, val b: Cluster, val step: Step, val plan: SubPlan, val relations: Array[Int])

  private val byRows: Comparator[Candidate] = new Comparator[Candidate] {
    def compare(x: Candidate, y: Candidate): Int = {
      val rows  = java.lang.Double.compare(x.plan.rows, y.plan.rows)
      val bytes = if (rows != 0) rows else java.lang.Double.compare(x.plan.bytes, y.plan.bytes)
      if (bytes != 0) bytes else if (x.a.first != y.a.first) Integer.compare(x.a.first, y.a.first) else Integer.compare(x.b.first, y.b.first)
    }
  }

  private val queue = new PriorityQueue[Candidate](byRows)
  private var count = 0L

  /** Pairs considered. */
  def pairs: Long = count

  /** The plan found; none if what was joined first leaves nothing that the graph's operators allow to be joined. */
  def run(): Option[SubPlan] = {
    val clusters = graph.relations.map(r => new Cluster(Array(r.index), sizer.leaf(r.index))).toArray
    val partners = if (sizer.innerOnly) graph.neighbors else graph.edges.near
    for (a <- clusters; b <- partners(a.first)) a.neighbors += clusters(b)
    for (a <- clusters; b <- a.neighbors if a.first < b.first) consider(a, b)
    var alive = clusters.toVector
    var stuck = false
    while (alive.size > 1 && !stuck) poll().orElse(farther(alive)) match {
      case Some(next) =>
        val c = merge(next)
        alive = alive.filter(_.alive) :+ c
      case None => stuck = true
    }
    if (stuck) None else Some(alive.head.plan)
  }

  private def poll(): Option[Candidate] = {
    var c = queue.poll()
    while (c != null && !(c.a.alive && c.b.alive)) c = queue.poll()
    Option(c)
  }

  private def consider(x: Cluster, y: Cluster): Unit =
    if (sizer.innerOnly || graph.edges.connect(x.members, y.members)) candidate(x, y).foreach(queue.add)

  private def candidate(x: Cluster, y: Cluster): Option[Candidate] = {
    val (a, b) = if (x.first < y.first) (x, y) else (y, x)
    val step   = if (sizer.innerOnly) Some(Step.Inner) else graph.joinable.between(a.members, b.members)
    step.map { s =>
      val relations = (a.relations ++ b.relations).sorted
      new Candidate(a, b, s, sizer.join(relations), relations)
    }
  }

  private def merge(c: Candidate): Cluster = {
    count += 1
    val (l, r) = (c.a.plan, c.b.plan)
    c.step.operator match {
      case Some(o) => if (c.step.swapped) costs.join(r, l, c.plan, sizer.operators(o.index)) else costs.join(l, r, c.plan, sizer.operators(o.index))
      case None    =>
        val key = l.classes & r.classes
        costs.join(l, r, c.plan, key, key != 0L || sizer.looseEquality(c.a.members, c.b.members))
    }
    val joined = new Cluster(c.relations, c.plan)
    c.a.alive = false
    c.b.alive = false
    for (n <- c.a.neighbors ++ c.b.neighbors if n.alive) {
      n.neighbors -= c.a
      n.neighbors -= c.b
      n.neighbors += joined
      joined.neighbors += n
      consider(joined, n)
    }
    joined
  }

  /** No edge is left: an equality over several relations that now has both sides, else the two smallest clusters that may be joined. */
  private def farther(alive: Vector[Cluster]): Option[Candidate] = {
    val bySides = for {
      (l, r) <- graph.hyperedges.iterator
      a      <- alive.iterator if l.forall(a.members)
      b      <- alive.iterator if (b ne a) && r.forall(b.members)
      c      <- candidate(a, b)
    } yield c
    bySides.toVector.sortWith((x, y) => byRows.compare(x, y) < 0).headOption.orElse {
      val bySize = alive.sortBy(c => (c.plan.rows, c.first))
      (for (i <- bySize.indices.iterator; j <- (0 until i).iterator; c <- candidate(bySize(j), bySize(i))) yield c).take(1).toVector.headOption
    }
  }
}
