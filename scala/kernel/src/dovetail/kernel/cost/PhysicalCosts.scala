package dovetail.kernel.cost

import dovetail.kernel.cost.JoinMethod._
import dovetail.kernel.profile.Estimate

/**
 * Cost of a join as Spark executes it: exchanges, sort, hash build and probe, rows produced, broadcasts.
 *
 * The model follows what Spark will do. Spark broadcasts an input by its own threshold when it plans, or because we
 * tell it to (`ClusterFacts.staticBytes`). Otherwise it exchanges both sides, and turns such a join into a broadcast
 * while it runs if one side turns out small. A side that is already partitioned by the join's key needs no exchange;
 * if a sort-merge join on that key returned it, it needs no sort either. If one of two exchanged inputs is clearly
 * smaller and fits, it is hashed instead of both being sorted ([[HashTable]]). Work after an exchange counts as the
 * time of its slowest task times the number of tasks ([[KeySkew]]). The part of a sort that does not fit into memory
 * goes to disk ([[SortMemory]]). A join by a key that Spark cannot hash sorts both sides, however small they are. A
 * broadcast may save part of a scan ([[ScanPruning]]). A predicate beside the equalities of a join is tested on every
 * pair of rows with equal keys. Each pair that it drops costs as much as a pair of a nested loop. The pairs of a nested
 * loop count as the time of the tasks that read its streamed side times the number of all tasks, so a table that one
 * task reads makes a loop expensive.
 *
 * @param loopsAtMost whether nested loops are priced by the most rows that their inputs may have, and not by estimates
 */
final class PhysicalCosts(constants: CostConstants, facts: ClusterFacts, loopsAtMost: Boolean = false)
    extends CostModel {
  import PhysicalCosts._
  import constants._

  val name = "physical"

  def scan(leaf: SubPlan): Double = if (facts.prunesScans) leaf.pruning.total * scanByte else 0.0

  def filter(work: FilterWork): Option[Double] = Some(work.cost(constants, facts))

  def join(left: SubPlan, right: SubPlan, out: SubPlan, key: Long, equi: Boolean, hashable: Boolean): Unit = {
    if (!equi) loops(left, right, out, smaller(left, right))
    else {
      val repartition = moved(out)
      val dropped     = droppedPairs(left, right, out)
      val output      = outputOf(out) + dropped
      if (hashable && canBroadcast(right))
        broadcasts(left, right, out, BroadcastRight, output - pruned(left, right, key), repartition)
      if (hashable && canBroadcast(left))
        broadcasts(right, left, out, BroadcastLeft, output - pruned(right, left, key), repartition)
      // if the engine broadcasts by itself, there is no shuffled join to choose
      if (!hashable || (!left.broadcast && !right.broadcast))
        shuffled(left, right, out, key, key, key, if (hashable) SwapEither else OnlySorts, dropped, repartition)
    }
  }

  /**
   * Spark broadcasts the right side of these joins or none, and so does adaptive execution. A nested loop copies the
   * right side as well, except in a full outer join.
   */
  def join(left: SubPlan, right: SubPlan, out: SubPlan, operator: OperatorJoin): Unit = {
    if (!operator.equi) loops(left, right, out, looped(left, right, operator))
    else {
      val repartition = moved(out)
      val dropped     = droppedPairs(left, right, operator)
      val output      = outputOf(out) + dropped
      val mayCopy     = operator.broadcastsRight && operator.hashable
      if (operator.copies || (mayCopy && canBroadcast(right)))
        broadcasts(left, right, out, BroadcastRight, output - pruned(left, right, operator), repartition)
      if (!operator.copies && !(mayCopy && right.broadcast)) {
        val swap = if (!operator.hashable) OnlySorts else if (operator.broadcastsRight) SwapRight else SwapNone
        shuffled(
          left,
          right,
          out,
          operator.leftKey,
          operator.rightKey,
          operator.partitioning,
          swap,
          dropped,
          repartition
        )
      }
    }
  }

  /** Offers a nested loop, which copies one side. */
  private def loops(left: SubPlan, right: SubPlan, out: SubPlan, copied: SubPlan): Unit = {
    val (l, r) = (left.best, right.best)
    val cost   = left.cost(l) + right.cost(r) + nestedLoop(left, right, copied) + outputOf(out)
    out.offer(cost, SubPlan.Unpartitioned, NestedLoop, left, l, right, r, moved(out))
  }

  private def looped(left: SubPlan, right: SubPlan, operator: OperatorJoin): SubPlan =
    if (operator.broadcastsRight) right else smaller(left, right)
  private def smaller(left: SubPlan, right: SubPlan): SubPlan = if (left.bytes <= right.bytes) left else right

  /** The side of the join that is not `side`. */
  private def other(side: SubPlan, left: SubPlan, right: SubPlan): SubPlan = if (side eq right) left else right

  private def canBroadcast(p: SubPlan): Boolean =
    p.broadcast || facts.mayBroadcast(p.bytes, p.cautious)

  /**
   * Offers a broadcast join. `stream` keeps its partitioning, so each of its alternatives is worth offering. Of the
   * build side, only the cheapest alternative is.
   */
  private def broadcasts(
      stream: SubPlan,
      build: SubPlan,
      out: SubPlan,
      method: JoinMethod,
      output: Double,
      repartition: Double
  ): Unit = {
    val b     = build.best
    val fixed = build.cost(b) + shared(build) + probe(stream) + output
    var i     = 0
    while (i < stream.alternatives) {
      if (method.buildsLeft)
        out.offer(stream.cost(i) + fixed, stream.partitioning(i), method, build, b, stream, i, repartition)
      else out.offer(stream.cost(i) + fixed, stream.partitioning(i), method, stream, i, build, b, repartition)
      i += 1
    }
  }

  /**
   * A join whose sides are exchanged if they are not partitioned by its key yet. Each method returns one part of its
   * cost. The search adds the parts up ([[shuffled]]), reports list them ([[partsOf]]).
   *
   * @param l       alternative of the left side
   * @param r       alternative of the right side
   * @param dropped cost of the pairs that the rest of the condition drops
   */
  final private class Shuffle(
      left: SubPlan,
      l: Int,
      right: SubPlan,
      r: Int,
      out: SubPlan,
      leftKey: Long,
      rightKey: Long,
      dropped: Double
  ) {
    private val movesLeft  = missing(left, l, leftKey)
    private val movesRight = missing(right, r, rightKey)

    def moves(side: SubPlan): Boolean = if (side eq left) movesLeft else movesRight

    /** Whether both sides are exchanged. */
    def movesBoth: Boolean = movesLeft && movesRight

    def exchanges: Double = (if (movesLeft) exchange(left) else 0.0) + (if (movesRight) exchange(right) else 0.0)

    def sorts: Double =
      (if (movesLeft || !left.sorted(l)) sort(left, leftKey) else 0.0) +
        (if (movesRight || !right.sorted(r)) sort(right, rightKey) else 0.0)

    def mergeOfLeft: Double  = merged(left, leftKey)
    def mergeOfRight: Double = merged(right, rightKey)

    /** Cost of hash tables over one side, in which the rows of the other side are looked up. */
    def hashes(hashed: SubPlan): Double =
      if (hashed eq right) build(right, rightKey) + probe(left, leftKey)
      else build(left, leftKey) + probe(right, rightKey)

    /** Cost of the output rows and of dropped pairs, which tasks as uneven as the inputs produce. */
    def output: Double =
      (outputOf(out) + dropped) * slowest(out, leftKey)(math.min(split(left, leftKey), split(right, rightKey)))
  }

  private def shuffled(
      left: SubPlan,
      right: SubPlan,
      out: SubPlan,
      leftKey: Long,
      rightKey: Long,
      outKey: Long,
      swap: Int,
      dropped: Double,
      repartition: Double
  ): Unit = {
    val (l, r)  = (cheapestAt(left, leftKey), cheapestAt(right, rightKey))
    val shuffle = new Shuffle(left, l, right, r, out, leftKey, rightKey, dropped)
    val output  = outputOf(out) + dropped
    val inputs  = left.cost(l) + right.cost(r) + shuffle.exchanges
    val b       = if (swap == SwapRight) right else smaller(left, right)
    val s       = other(b, left, right)
    val swaps   = swap == SwapEither || swap == SwapRight
    // Adaptive execution broadcasts an input that an exchange for this join has measured. The other one keeps its
    // partitioning, if it is not exchanged.
    if (shuffle.moves(b) && swaps && b.bytes <= facts.broadcastBytes) {
      val stays = if (shuffle.movesBoth) 0L else s.partitioning(if (s eq left) l else r)
      out.offer(inputs + broadcast(b) + probe(s) + output, stays, ShuffledThenBroadcast, left, l, right, r, repartition)
    } else if (!facts.preferSortMerge && swap != OnlySorts)
      out.offer(inputs + shuffle.hashes(b) + shuffle.output, outKey, ShuffledHash, left, l, right, r, repartition)
    else {
      val (l0, r0) = (left.best, right.best)
      val made     = shuffle.output
      val hash     = swaps && hashed(b, s) && missing(left, l0, leftKey) && missing(right, r0, rightKey)
      if (hash) {
        val exchanged = left.cost(l0) + right.cost(r0) + exchange(left) + exchange(right)
        out.offer(exchanged + shuffle.hashes(b) + made, outKey, ShuffledHash, left, l0, right, r0, repartition)
      }
      if (!(hash && shuffle.movesBoth)) {
        val merges = shuffle.mergeOfLeft + shuffle.mergeOfRight
        out.offer(inputs + shuffle.sorts + merges + made, outKey, SortMerge, left, l, right, r, repartition)
      }
    }
  }

  /** Whether the planner lets this join hash the smaller input, after the exchanges have counted it. */
  private def hashed(b: SubPlan, s: SubPlan): Boolean =
    b.bytes > facts.broadcastBytes && facts.hashTable.pays(b.bytes, s.bytes) && facts.hashTable.fits(b.rows, b.bytes)

  private def missing(p: SubPlan, i: Int, key: Long): Boolean = key == 0L || p.partitioning(i) != key

  private def cheapestAt(p: SubPlan, key: Long): Int = {
    var best = 0
    var min  = Double.PositiveInfinity
    var i    = 0
    while (i < p.alternatives) {
      val c = p.cost(i) + (if (missing(p, i, key)) exchange(p) + sort(p, key)
                           else if (p.sorted(i)) 0.0
                           else sort(p, key))
      if (c < min) { min = c; best = i }
      i += 1
    }
    best
  }

  def parts(out: SubPlan, i: Int): Cost = {
    val (left, right) = (out.left(i), out.right(i))
    val key           = left.classes & right.classes
    partsOf(
      out,
      i,
      key,
      key,
      smaller(left, right),
      droppedPairs(left, right, out),
      if (out.method(i).buildsLeft) pruned(right, left, key) else pruned(left, right, key)
    )
  }

  def parts(out: SubPlan, i: Int, operator: OperatorJoin): Cost = {
    val (left, right) = (out.left(i), out.right(i))
    partsOf(
      out,
      i,
      operator.leftKey,
      operator.rightKey,
      looped(left, right, operator),
      droppedPairs(left, right, operator),
      pruned(left, right, operator)
    )
  }

  /**
   * @param copied  side that is broadcast or hashed if the method does not say which
   * @param dropped cost of the pairs that the rest of the condition drops
   * @param saved   scan cost that a broadcast saves
   */
  private def partsOf(
      out: SubPlan,
      i: Int,
      leftKey: Long,
      rightKey: Long,
      copied: SubPlan,
      dropped: Double,
      saved: Double
  ): Cost = {
    val (left, right) = (out.left(i), out.right(i))
    val (l, r)        = (out.leftAlternative(i), out.rightAlternative(i))
    val shuffle       = new Shuffle(left, l, right, r, out, leftKey, rightKey, dropped)
    val output        = outputOf(out) + dropped
    val above         = Cost(exchange = out.above.cost(out.partitioning(i)))
    above + (out.method(i) match {
      case BroadcastRight => Cost(hash = probe(left), broadcast = shared(right), output = output, scan = -saved)
      case BroadcastLeft  => Cost(hash = probe(right), broadcast = shared(left), output = output, scan = -saved)
      case NestedLoop     =>
        Cost(hash = compared(left, right, copied), broadcast = broadcast(copied), output = outputOf(out))
      case ShuffledThenBroadcast =>
        val probed = other(copied, left, right)
        Cost(exchange = shuffle.exchanges, hash = probe(probed), broadcast = broadcast(copied), output = output)
      case ShuffledHash => Cost(exchange = shuffle.exchanges, hash = shuffle.hashes(copied), output = shuffle.output)
      case _            =>
        val sort = shuffle.sorts + shuffle.mergeOfLeft + shuffle.mergeOfRight
        Cost(exchange = shuffle.exchanges, sort = sort, output = shuffle.output)
    })
  }

  private def exchange(p: SubPlan): Double  = constants.exchange(p.rows, p.bytes)
  private def sort(p: SubPlan): Double      = if (facts.preferSortMerge) p.rows * sortCompare * p.halvings else 0.0
  private def probe(p: SubPlan): Double     = p.rows * hashProbe
  private def outputOf(p: SubPlan): Double  = p.rows * rowProduced
  private def broadcast(p: SubPlan): Double = constants.broadcast(p.rows, p.bytes, facts.executors)

  /** Cost of a broadcast, shared equally by all joins that use it. */
  private def shared(p: SubPlan): Double = broadcast(p) / p.copies

  /**
   * Cost of the pairs of rows with equal keys that the other predicates of an inner join drop. These pairs are the
   * joined rows before the predicates.
   */
  private def droppedPairs(left: SubPlan, right: SubPlan, out: SubPlan): Double = {
    val share = out.residual / (left.residual * right.residual)
    if (!(share < 1.0)) 0.0 else dropped(math.min(out.rows / share, left.rows * right.rows) - out.rows)
  }

  /**
   * The same for an operator. A semi, anti or existence join needs one pair that its condition keeps, and looks for no
   * other pair of the same row.
   */
  private def droppedPairs(left: SubPlan, right: SubPlan, operator: OperatorJoin): Double =
    if (operator.residual >= 1.0) 0.0
    else {
      val pairs = left.rows * right.rows * operator.keys
      if (operator.kind.testsOnly) dropped(math.min(pairs, left.rows / operator.residual) - left.rows)
      else dropped(pairs * (1.0 - operator.residual))
    }

  private def dropped(pairs: Double): Double = math.max(0.0, pairs) * nestedLoopPair

  /** Cost of comparing every pair of rows, in the tasks of the side that is not copied. */
  private def compared(l: SubPlan, r: SubPlan, copied: SubPlan): Double = {
    val pairs = if (loopsAtMost) math.min(Estimate.Ceiling, l.most * r.most) else l.rows * r.rows
    val tasks = math.min(facts.tasks.toDouble, other(copied, l, r).tasks)
    pairs * nestedLoopPair * facts.tasks / math.max(1.0, tasks)
  }

  private def nestedLoop(l: SubPlan, r: SubPlan, copied: SubPlan): Double = compared(l, r, copied) + broadcast(copied)

  /** Maximum cost of bringing a set's rows into another partitioning. */
  private def moved(p: SubPlan): Double = exchange(p) + sort(p) * slowest(p, p.skew.most) + spill(p, p.skew.most)

  // cost of tasks after an exchange, as long as the slowest of them takes
  private def sort(p: SubPlan, key: Long): Double =
    sort(p) * slowest(p, key)(split(p, key)) + spill(p, p.skew.largest(key) * split(p, key))
  private def build(p: SubPlan, key: Long): Double  = p.rows * hashBuild * slowest(p, key)(split(p, key))
  private def probe(p: SubPlan, key: Long): Double  = probe(p) * slowest(p, key)(split(p, key))
  private def merged(p: SubPlan, key: Long): Double = p.rows * merge * slowest(p, key)(split(p, key))

  /**
   * Cost of the part of a sort that goes to disk. This is the whole input if tasks of even size have no memory for
   * their part. Otherwise it is the part of the largest task, for which all others wait, if that task has no memory for
   * it.
   */
  private def spill(p: SubPlan, largest: => Double): Double = {
    def holds(share: Double) = facts.sortMemory.holds(p.rows, p.bytes, share)
    if (!facts.preferSortMerge || holds(1.0)) 0.0
    else if (!holds(facts.sortMemory.even(p.bytes))) p.bytes * spillByte * slowest(p, largest)
    else if (holds(p.skew.most) || holds(largest)) 0.0
    else p.bytes * spillByte * largest * facts.tasks
  }

  private def slowest(p: SubPlan, key: Long)(share: => Double): Double = slowest(p, p.skew.largest(key) * share)

  /**
   * Factor by which the tasks of a set take longer than with even keys if the largest task has this share of the rows.
   * At least 1.
   */
  private def slowest(p: SubPlan, largest: => Double): Double =
    if (p.skew.most * facts.tasks <= 1.0) 1.0 else math.max(1.0, largest * facts.tasks)

  /**
   * Share of the largest partition that remains in one task: adaptive execution splits partitions that are too large.
   */
  private def split(p: SubPlan, key: Long): Double = {
    val largest = if (p.skew eq KeySkew.none) 0.0 else p.skew.largest(key) * p.bytes
    if (largest > facts.splitBytes) facts.splitBytes / largest else 1.0
  }

  /**
   * Cost of the scans in `stream` that is saved if `build` is broadcast to it: `build` must have a predicate, and
   * partitions for which it has no keys are not read.
   */
  private def pruned(stream: SubPlan, build: SubPlan, key: Long): Double =
    if ((stream.pruning eq ScanPruning.none) || !facts.prunesScans || !build.selective) 0.0
    else stream.pruning.saved(key, build.rows) * scanByte

  private def pruned(left: SubPlan, right: SubPlan, operator: OperatorJoin): Double =
    if (operator.prunesLeft) pruned(left, right, operator.leftKey) else 0.0
}

object PhysicalCosts {

  // side that adaptive execution may broadcast instead of sorting both
  private val SwapNone   = 0
  private val SwapRight  = 1
  private val SwapEither = 2

  /**
   * Neither side, and none is hashed. If Spark does not prefer sorts, no sort has a price, so these joins seem cheaper
   * than they are.
   */
  private val OnlySorts = 3
}
