package dovetail.kernel.enumerate

import scala.collection.mutable

import dovetail.kernel.cost.{CostModel, SubPlan}
import dovetail.kernel.graph.{RelSet, Step}

/** The table of the dynamic program: the best plans of every connected set. An enumerator fills it. */
final class PlanTable(size: Int, sizer: Sizer, costs: CostModel, budget: Budget) extends Receiver {
  // plans by the bits of their set if there are few relations, otherwise hashed; one of the two is null
  private val direct = if (size <= PlanTable.DirectSize) new Array[SubPlan](1 << size) else null
  private val hashed = if (direct == null) new mutable.LongMap[SubPlan](PlanTable.FirstSets) else null
  private var count  = 0L
  private val all    = RelSet.first(size)

  // the best plans of the two cheapest last joins
  private var cheapest, next: SubPlan = null

  /** Number of pairs considered. */
  def pairs: Long = count

  def contains(set: RelSet): Boolean = at(set) != null
  override def timeLeft: Boolean     = budget.timeLeft
  def relation(r: Int): Unit         = put(RelSet.single(r), sizer.leaf(r, costs))

  def pair(left: RelSet, right: RelSet): Boolean = {
    count += 1
    if (sizer.innerOnly) join(left, right, Step.Inner) else sizer.between(left, right).foreach(join(left, right, _))
    budget.allows(count)
  }

  private def join(left: RelSet, right: RelSet, step: Step): Unit = {
    val out = planOf(left | right)
    price(left, right, out, step)
    if ((left | right) == all) compare(left, right, out.unpriced, step)
  }

  private def compare(left: RelSet, right: RelSet, alone: SubPlan, step: Step): Unit = {
    price(left, right, alone, step)
    if (cheapest == null || alone.leastCost < cheapest.leastCost) { next = cheapest; cheapest = alone }
    else if (next == null || alone.leastCost < next.leastCost) next = alone
  }

  private def price(left: RelSet, right: RelSet, out: SubPlan, step: Step): Unit =
    sizer.price(at(left), at(right), out, step, costs)(sizer.looseEquality(left.contains, right.contains))

  /** The plan of all relations after the enumeration. Null if conflicts left no way to join them along edges. */
  def full: SubPlan = at(all)

  /** The best plan with another last join; null if there is only one last join. */
  def second: SubPlan = next

  private def planOf(set: RelSet): SubPlan = {
    val known = at(set)
    if (known != null) known else { val plan = sizer.join(set); put(set, plan); plan }
  }

  private def at(set: RelSet): SubPlan = if (direct != null) direct(set.bits.toInt) else hashed.getOrNull(set.bits)
  private def put(set: RelSet, plan: SubPlan): Unit =
    if (direct != null) direct(set.bits.toInt) = plan else hashed(set.bits) = plan
}

/** Counts the pairs of a graph whose edges always join, up to where a plan table with the same budget would stop. */
class PairCounter(budget: Budget) extends Receiver {
  private var count = 0L

  def pairs: Long                    = count
  def relation(r: Int): Unit         = ()
  def contains(set: RelSet): Boolean =
    throw new UnsupportedOperationException("a counter keeps no sets: it is for graphs whose edges always join")
  def pair(left: RelSet, right: RelSet): Boolean = {
    count += 1; budget.allows(count)
  }
}

/**
 * The same for a graph with operators. It keeps the sets that may be joined, but neither sizes nor prices, which take
 * most of the time.
 */
final class LegalCounter(sizer: Sizer, budget: Budget) extends PairCounter(budget) {
  private val made = new mutable.LongMap[Unit]

  override def contains(set: RelSet): Boolean = made.contains(set.bits)
  override def timeLeft: Boolean              = budget.timeLeft
  override def relation(r: Int): Unit         = made(RelSet.single(r).bits) = ()

  override def pair(left: RelSet, right: RelSet): Boolean = {
    val both = left | right
    if (!contains(both) && sizer.between(left, right).isDefined) made(both.bits) = ()
    super.pair(left, right)
  }
}

object PlanTable {

  /** Number of relations up to which plans are found by the bits of their set: 2^16 references take 256 KiB. */
  private val DirectSize = 16

  /**
   * Sets for which a hashed table has room at first, a power of two. A chain of 44 relations has that many connected
   * sets, and the table grows for others.
   */
  private val FirstSets = 1024
}
