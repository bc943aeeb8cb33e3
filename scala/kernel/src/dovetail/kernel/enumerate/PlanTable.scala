package dovetail.kernel.enumerate

import scala.collection.mutable

import dovetail.kernel.cost.{CostModel, SubPlan}
import dovetail.kernel.graph.RelSet

/** The table of the dynamic program: the best plans of every connected set, filled by an enumerator. */
final class PlanTable(size: Int, sizer: Sizer, costs: CostModel, budget: Budget) extends Receiver {
  private val plans             = new mutable.LongMap[SubPlan](1024)
  private var count             = 0L
  private var last              = 0L // the last joined set: pairs of one set often come in a row
  private var lastPlan: SubPlan = null

  /** Pairs considered. */
  def pairs: Long = count

  def get(set: RelSet): Option[SubPlan] = plans.get(set.bits)
  def contains(set: RelSet): Boolean    = plans.contains(set.bits)
  override def timeLeft: Boolean        = budget.timeLeft
  def relation(r: Int): Unit            = plans(RelSet.single(r).bits) = sizer.leaf(r)

  def pair(left: RelSet, right: RelSet): Boolean = {
    count += 1
    val (l, r) = (plans(left.bits), plans(right.bits))
    val key    = l.classes & r.classes
    val equi   = key != 0L || (sizer.hasLooseEqualities && sizer.looseEquality(left.contains, right.contains))
    costs.join(l, r, planOf(left | right), key, equi)
    count <= budget.pairs && ((count & PlanTable.ClockInterval) != 0L || budget.timeLeft)
  }

  /** The plan of all relations, once the enumeration is complete. */
  def full: SubPlan = plans(RelSet.first(size).bits)

  private def planOf(set: RelSet): SubPlan = {
    if (set.bits != last) {
      last = set.bits
      lastPlan = plans.getOrNull(set.bits)
      if (lastPlan == null) {
        lastPlan = sizer.join(set)
        plans(set.bits) = lastPlan
      }
    }
    lastPlan
  }
}

/** Counts the pairs of a graph without hyperedges, as far as a plan table with the same budget would go. */
final class PairCounter(budget: Budget) extends Receiver {
  private var count = 0L

  def pairs: Long                                = count
  def relation(r: Int): Unit                     = ()
  def contains(set: RelSet): Boolean             = throw new UnsupportedOperationException("a counter keeps no sets: it is for graphs without hyperedges")
  def pair(left: RelSet, right: RelSet): Boolean = { count += 1; count <= budget.pairs && ((count & PlanTable.ClockInterval) != 0L || budget.timeLeft) }
}

object PlanTable {

  /** Pairs between two looks at the clock, as a bit mask: a look costs about as much as a pair. */
  private[enumerate] val ClockInterval = 255L
}
