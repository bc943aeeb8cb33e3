package dovetail.kernel.cost

/**
 * All that the search keeps of one set of relations: its size, and its best plan per useful output partitioning.
 *
 * A partitioning is a bit mask of equivalence classes: the rows are hash partitioned (and, coming out of a sort-merge join, sorted) by exactly these
 * classes' columns, so that a join on the same classes needs no exchange. 0 is any other partitioning. This is Selinger's interesting order, for
 * exchanges; it answers the question of the Spark mailing list (seed 003) whether one plan per set is enough.
 *
 * Classes beyond 64 share bits with lower ones: a wrong match there can misprice a plan, never break it.
 *
 * @param relation  the relation itself, or -1 for a join
 * @param rows      estimated rows
 * @param bytes     estimated bytes in memory
 * @param classes   classes with a member in the set
 * @param broadcast the engine broadcasts this input by its own rule
 * @param cautious  bytes that the set should not exceed, however wrong its estimate is
 */
final class SubPlan(
    val relation: Int,
    val rows: Double,
    val bytes: Double,
    val classes: Long,
    val broadcast: Boolean,
    val cautious: Double = Double.PositiveInfinity
) {
  import SubPlan.Alternatives

  private val costs               = new Array[Double](Alternatives)
  private val partitionings       = new Array[Long](Alternatives)
  private val methods             = new Array[JoinMethod](Alternatives)
  private val lefts, rights       = new Array[SubPlan](Alternatives)
  private val leftAlts, rightAlts = new Array[Int](Alternatives)
  private var count               = 0

  def alternatives: Int             = count
  def cost(i: Int): Double          = costs(i)
  def partitioning(i: Int): Long    = partitionings(i)
  def method(i: Int): JoinMethod    = methods(i)
  def left(i: Int): SubPlan         = lefts(i)
  def right(i: Int): SubPlan        = rights(i)
  def leftAlternative(i: Int): Int  = leftAlts(i)
  def rightAlternative(i: Int): Int = rightAlts(i)

  /** The cheapest alternative; the first of equals. */
  def best: Int = {
    var b = 0
    var i = 1
    while (i < count) { if (costs(i) < costs(b)) b = i; i += 1 }
    b
  }

  /**
   * Offers a plan for this set. It is kept if no other plan of the same or a more useful partitioning costs as little, and if it is not cheaper to take
   * the best plan and exchange its output (`repartition`). Of equal offers the first stays, so the result depends on the order of enumeration only.
   */
  def offer(cost: Double, partitioning: Long, method: JoinMethod, left: SubPlan, leftAlt: Int, right: SubPlan, rightAlt: Int, repartition: Double): Unit = {
    var i = 0
    while (i < count) { if (useless(cost, partitioning, costs(i), partitionings(i), repartition)) return; i += 1 }
    dropUseless(cost, partitioning, repartition)
    if (count < Alternatives) { put(count, cost, partitioning, method, left, leftAlt, right, rightAlt); count += 1 }
    else {
      val dearest = mostExpensive
      if (cost < costs(dearest)) put(dearest, cost, partitioning, method, left, leftAlt, right, rightAlt)
    }
  }

  /** A plan beside one that `costs` no more and has the same partitioning, or a more useful one, or can get it by an exchange. */
  private def useless(cost: Double, partitioning: Long, otherCost: Double, otherPartitioning: Long, repartition: Double): Boolean =
    otherCost <= cost && (otherPartitioning == partitioning || partitioning == 0L || otherCost + repartition <= cost)

  private def dropUseless(cost: Double, partitioning: Long, repartition: Double): Unit = {
    var kept = 0
    var i    = 0
    while (i < count) {
      if (!useless(costs(i), partitionings(i), cost, partitioning, repartition)) {
        if (kept < i) put(kept, costs(i), partitionings(i), methods(i), lefts(i), leftAlts(i), rights(i), rightAlts(i))
        kept += 1
      }
      i += 1
    }
    count = kept
  }

  private def put(slot: Int, cost: Double, partitioning: Long, method: JoinMethod, left: SubPlan, leftAlt: Int, right: SubPlan, rightAlt: Int): Unit = {
    costs(slot) = cost
    partitionings(slot) = partitioning
    methods(slot) = method
    lefts(slot) = left
    rights(slot) = right
    leftAlts(slot) = leftAlt
    rightAlts(slot) = rightAlt
  }

  private def mostExpensive: Int = { var m = 0; var i = 1; while (i < count) { if (costs(i) >= costs(m)) m = i; i += 1 }; m }
}

object SubPlan {

  /** Plans kept per set: the cheapest, and a few whose partitioning may save an exchange further up. */
  val Alternatives = 4

  /** The bit of an equivalence class. */
  def classBit(index: Int): Long = 1L << (index & 63)
}
