package dovetail.kernel.cost

import dovetail.kernel.cost.JoinMethod._

/**
 * Work of a join as Spark executes it: exchanges, sort, hash build and probe, rows produced, broadcasts.
 *
 * It follows what Spark will do: Spark broadcasts an input by its own threshold when it plans, or because we tell it to (`ClusterFacts.staticBytes`),
 * exchanges both sides otherwise, and turns such a join into a broadcast while it runs when one side comes out small. A side that is already partitioned by the join's key
 * needs neither exchange nor sort.
 */
final class PhysicalCosts(constants: CostConstants, facts: ClusterFacts) extends CostModel {
  import constants._

  val name = "physical"

  def join(left: SubPlan, right: SubPlan, out: SubPlan, key: Long, equi: Boolean): Unit = {
    val repartition = exchange(out) + sort(out)
    val output      = outputOf(out)
    if (!equi) {
      val (l, r) = (left.best, right.best)
      out.offer(left.cost(l) + right.cost(r) + nestedLoop(left, right) + output, 0L, NestedLoop, left, l, right, r, repartition)
    } else {
      if (canBroadcast(right)) broadcasts(left, right, out, BroadcastRight, output, repartition)
      if (canBroadcast(left)) broadcasts(right, left, out, BroadcastLeft, output, repartition)
      // where the engine broadcasts by itself there is no shuffled join to choose
      if (!left.broadcast && !right.broadcast) shuffled(left, right, out, key, output, repartition)
    }
  }

  private def canBroadcast(p: SubPlan): Boolean =
    p.broadcast || (p.bytes <= facts.staticBytes && p.cautious <= facts.staticBytes * ClusterFacts.RiskFactor)

  /** `stream` keeps its partitioning, so each of its alternatives is worth offering; of the build side only the cheapest. */
  private def broadcasts(stream: SubPlan, build: SubPlan, out: SubPlan, method: JoinMethod, output: Double, repartition: Double): Unit = {
    val b     = build.best
    val fixed = build.cost(b) + broadcast(build) + probe(stream) + output
    var i     = 0
    while (i < stream.alternatives) {
      if (method.buildsLeft) out.offer(stream.cost(i) + fixed, stream.partitioning(i), method, build, b, stream, i, repartition)
      else out.offer(stream.cost(i) + fixed, stream.partitioning(i), method, stream, i, build, b, repartition)
      i += 1
    }
  }

  private def shuffled(left: SubPlan, right: SubPlan, out: SubPlan, key: Long, output: Double, repartition: Double): Unit = {
    val (l, r) = (cheapestAt(left, key), cheapestAt(right, key))
    val inputs = left.cost(l) + right.cost(r)
    val small  = math.min(left.bytes, right.bytes)
    val lost   = missing(left, l, key)
    val lost2  = missing(right, r, key)
    val moved  = (if (lost) exchange(left) else 0.0) + (if (lost2) exchange(right) else 0.0)
    val sorted = (if (lost) sort(left) else 0.0) + (if (lost2) sort(right) else 0.0)
    // Adaptive execution swaps the join only where both exchanges are its own: a reused partitioning is not given up.
    if (lost && lost2 && small <= facts.broadcastBytes) {
      val (b, s) = if (left.bytes <= right.bytes) (left, right) else (right, left)
      out.offer(inputs + moved + broadcast(b) + probe(s) + output, 0L, ShuffledThenBroadcast, left, l, right, r, repartition)
    } else out.offer(inputs + moved + sorted + joinSorted(left, right) + output, key, Shuffled, left, l, right, r, repartition)
  }

  private def missing(p: SubPlan, i: Int, key: Long): Boolean = key == 0L || p.partitioning(i) != key

  private def cheapestAt(p: SubPlan, key: Long): Int = {
    var best = 0
    var min  = Double.PositiveInfinity
    var i    = 0
    while (i < p.alternatives) {
      val c = p.cost(i) + (if (missing(p, i, key)) exchange(p) + sort(p) else 0.0)
      if (c < min) { min = c; best = i }
      i += 1
    }
    best
  }

  def parts(out: SubPlan, i: Int): Cost = {
    val (left, right) = (out.left(i), out.right(i))
    val output        = outputOf(out)
    out.method(i) match {
      case BroadcastRight => Cost(hash = probe(left), broadcast = broadcast(right), output = output)
      case BroadcastLeft  => Cost(hash = probe(right), broadcast = broadcast(left), output = output)
      case NestedLoop     =>
        Cost(hash = left.rows * right.rows * nestedLoopPair, broadcast = broadcast(if (left.bytes <= right.bytes) left else right), output = output)
      case ShuffledThenBroadcast =>
        val (b, s) = if (left.bytes <= right.bytes) (left, right) else (right, left)
        Cost(exchange = exchange(left) + exchange(right), hash = probe(s), broadcast = broadcast(b), output = output)
      case _ =>
        val key    = out.partitioning(i)
        val (l, r) = (missing(left, out.leftAlternative(i), key), missing(right, out.rightAlternative(i), key))
        Cost(
          exchange = (if (l) exchange(left) else 0.0) + (if (r) exchange(right) else 0.0),
          sort = (if (l) sort(left) else 0.0) + (if (r) sort(right) else 0.0) + (if (facts.preferSortMerge) joinSorted(left, right) else 0.0),
          hash = if (facts.preferSortMerge) 0.0 else joinSorted(left, right),
          output = output
        )
    }
  }

  private def exchange(p: SubPlan): Double               = p.rows * exchangeRow + p.bytes * exchangeByte
  private def sort(p: SubPlan): Double                   = if (facts.preferSortMerge) p.rows * sortCompare * p.halvings else 0.0
  private def probe(p: SubPlan): Double                  = p.rows * hashProbe
  private def outputOf(p: SubPlan): Double               = p.rows * rowProduced
  private def broadcast(p: SubPlan): Double              = (p.rows * hashBuild + p.bytes * broadcastByte) * (1.0 + facts.executors)
  private def nestedLoop(l: SubPlan, r: SubPlan): Double = l.rows * r.rows * nestedLoopPair + broadcast(if (l.bytes <= r.bytes) l else r)

  /** Merging two sorted inputs, or building and probing a hash table per partition. */
  private def joinSorted(l: SubPlan, r: SubPlan): Double =
    if (facts.preferSortMerge) (l.rows + r.rows) * merge
    else { val (b, s) = if (l.bytes <= r.bytes) (l, r) else (r, l); b.rows * hashBuild + s.rows * hashProbe }
}
