package dovetail.kernel.cost

/**
 * Everything that the search keeps for one set of relations: its size, and its best plan per useful output
 * partitioning.
 *
 * A partitioning is a bit mask of equivalence classes: the rows are hash partitioned by exactly these classes' columns,
 * so that a join on the same classes needs no exchange. 0 is any other partitioning. After a sort-merge join, the
 * partitions are also sorted by these columns. Both are Selinger's interesting orders.
 *
 * Classes beyond 64 share bits with lower ones. A wrong match there can misprice a plan, but never break it.
 *
 * @param relation  the relation itself, or [[SubPlan.NoRelation]] for a join
 * @param rows      estimated rows
 * @param bytes     estimated bytes in memory
 * @param classes   classes with a member in the set
 * @param broadcast whether the engine broadcasts this input by its own rule
 * @param cautious  bytes of memory that a broadcast of the set should not exceed, however wrong its estimate is
 *                  ([[BroadcastMemory]])
 * @param skew      how unevenly its rows are distributed over its join keys
 * @param pruning   scans in it that a join can prune
 * @param copies    number of times that the query has this same input; a broadcast of it is made once
 * @param selective whether a predicate restricts one of its relations; only set if this decides what is pruned
 * @param residual  share of the pairs that its predicates keep, apart from the equalities by which joins hash or sort
 * @param above     exchange above the set, which only the set of all relations has; part of the cost of its plans
 * @param most      rows that the set should not exceed, however wrong its estimate is
 * @param tasks     about how many tasks return its rows; infinite if that is unknown
 */
class SubPlan(
    val relation: Int,
    val rows: Double,
    val bytes: Double,
    val classes: Long,
    val broadcast: Boolean,
    val cautious: Double = Double.PositiveInfinity,
    val skew: KeySkew = KeySkew.none,
    val pruning: ScanPruning = ScanPruning.none,
    val selective: Boolean = false,
    val copies: Int = 1,
    val residual: Double = 1.0,
    val above: ExchangeAbove = ExchangeAbove.none,
    val most: Double = Double.PositiveInfinity,
    val tasks: Double = Double.PositiveInfinity
) {
  import SubPlan.{Alternative, Alternatives, Unpartitioned}

  /** log2 of the rows, at least 1: how often a sort halves them. Every join with this set uses it. */
  val halvings: Double = SubPlan.halvings(rows)

  /** The same set as `of`, without its plans. */
  protected def this(of: SubPlan) =
    this(
      of.relation,
      of.rows,
      of.bytes,
      of.classes,
      of.broadcast,
      of.cautious,
      of.skew,
      of.pruning,
      of.selective,
      of.copies,
      of.residual,
      of.above,
      of.most,
      of.tasks
    )

  /** The same set, without its plans. */
  def unpriced: SubPlan = new SubPlan(this)

  /** The same set with alternative `i` alone, at no cost. A join with it then costs only what the join itself costs. */
  def only(i: Int): SubPlan = {
    val plan = unpriced
    plan.begin(0.0, partitioning(i), sorted(i))
    plan
  }

  private val kept  = new Array[Alternative](Alternatives)
  private var count = 0

  def alternatives: Int             = count
  def cost(i: Int): Double          = kept(i).cost
  def partitioning(i: Int): Long    = kept(i).partitioning
  def sorted(i: Int): Boolean       = kept(i).sorted
  def method(i: Int): JoinMethod    = kept(i).method
  def left(i: Int): SubPlan         = kept(i).left
  def right(i: Int): SubPlan        = kept(i).right
  def leftAlternative(i: Int): Int  = kept(i).leftAlternative
  def rightAlternative(i: Int): Int = kept(i).rightAlternative

  /** The cheapest alternative; the first one in a tie. */
  def best: Int = {
    var b = 0
    var i = 1
    while (i < count) { if (cost(i) < cost(b)) b = i; i += 1 }
    b
  }

  /** Cost of the cheapest alternative. */
  def leastCost: Double = cost(best)

  /** Whether it is a relation and not a join. */
  def isLeaf: Boolean = relation != SubPlan.NoRelation

  /** Makes the set an input of this cost and partitioning, which no join produces. It is not sorted. */
  def beginAsInput(cost: Double, partitioning: Long): Unit = begin(cost, partitioning, sorted = false)

  private def begin(cost: Double, partitioning: Long, sorted: Boolean): Unit = {
    kept(0) = new Alternative(cost, partitioning, sorted, null, null, 0, null, 0)
    count = 1
  }

  /**
   * Offers a plan for this set. It is kept if no other plan of the same or a more useful partitioning costs as little,
   * and if it is not cheaper to take the best plan, exchange its output and sort it (`repartition`). Of equal offers
   * the first stays, so the result depends only on the order of enumeration.
   *
   * In two cases the result may miss the optimum. A broadcast join that multiplies the rows makes the exchange more
   * expensive after the choice was made. And a join on the partitioning's key may have been cheaper without that
   * partitioning, as a broadcast while it runs. On random graphs, one in a thousand loses up to 1 %; with outer joins,
   * which multiply rows more often, the worst of 5000 graphs lost 7 %.
   */
  def offer(
      joined: Double,
      partitioning: Long,
      method: JoinMethod,
      left: SubPlan,
      leftAlt: Int,
      right: SubPlan,
      rightAlt: Int,
      repartition: Double
  ): Unit = {
    val cost = joined + above.cost(partitioning)
    // a join with a copy of the other side returns the rows of a partition in their order
    val sorted = partitioning != Unpartitioned && (method match {
      case JoinMethod.SortMerge      => true
      case JoinMethod.BroadcastRight => left.sorted(leftAlt)
      case JoinMethod.BroadcastLeft  => right.sorted(rightAlt)
      case _                         => false
    })
    var i = 0
    while (i < count) {
      val k = kept(i)
      if (useless(cost, partitioning, sorted, k.cost, k.partitioning, k.sorted, repartition)) return
      i += 1
    }
    dropUseless(cost, partitioning, sorted, repartition)
    val slot = if (count < Alternatives) { count += 1; count - 1 }
    else dearest
    if (kept(slot) == null || cost < kept(slot).cost)
      kept(slot) = new Alternative(cost, partitioning, sorted, method, left, leftAlt, right, rightAlt)
  }

  /**
   * Whether a plan is useless beside another one: that plan costs no more and has the same or a more useful
   * partitioning, or can get it by an exchange.
   */
  private def useless(
      cost: Double,
      partitioning: Long,
      sorted: Boolean,
      otherCost: Double,
      otherPartitioning: Long,
      otherSorted: Boolean,
      repartition: Double
  ): Boolean =
    otherCost <= cost && (
      partitioning == Unpartitioned || otherCost + repartition <= cost ||
        (otherPartitioning == partitioning && (otherSorted || !sorted))
    )

  private def dropUseless(cost: Double, partitioning: Long, sorted: Boolean, repartition: Double): Unit = {
    val before = count
    count = 0
    var i = 0
    while (i < before) {
      val a = kept(i)
      kept(i) = null
      val goes = useless(a.cost, a.partitioning, a.sorted, cost, partitioning, sorted, repartition)
      if (!goes) { kept(count) = a; count += 1 }
      i += 1
    }
  }

  private def dearest: Int = { var m = 0; var i = 1; while (i < count) { if (cost(i) >= cost(m)) m = i; i += 1 }; m }
}

object SubPlan {

  /** Number of plans kept per set: the cheapest, and a few whose partitioning may save an exchange further up. */
  val Alternatives = 4

  /** Value of `relation` if the set is a join. */
  val NoRelation: Int = -1

  /** The partitioning of rows that may be anywhere. */
  val Unpartitioned: Long = 0L

  private val Log2 = math.log(2.0)

  /** How often a sort halves so many rows: their log2, at least 1. */
  def halvings(rows: Double): Double = math.log(math.max(rows, 2.0)) / Log2

  /**
   * A way to execute one of the joins that make a set. Without method and sides if no join makes it: an input, or a set
   * that is treated as one.
   *
   * @param sorted whether the rows of each partition are sorted by the columns of the partitioning
   */
  final private class Alternative(
      val cost: Double,
      val partitioning: Long,
      val sorted: Boolean,
      val method: JoinMethod,
      val left: SubPlan,
      val leftAlternative: Int,
      val right: SubPlan,
      val rightAlternative: Int
  )

  /** The bit of an equivalence class. */
  def classBit(index: Int): Long = 1L << (index & 63)
}
