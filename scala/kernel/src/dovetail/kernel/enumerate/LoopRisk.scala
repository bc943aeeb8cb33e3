package dovetail.kernel.enumerate

import dovetail.kernel.cost.JoinMethod
import dovetail.kernel.profile.Estimate

/**
 * Finds nested loops of a new order that would be far worse than the written order if estimates are far too low.
 *
 * A nested loop compares every pair of rows, so two wrong estimates multiply. A join by keys has no such risk: its work
 * grows with the rows of its inputs and of its result. Loops that the written order has, too, do not count. Inputs that
 * were counted have no higher bound, so loops over them pass.
 */
object LoopRisk {

  /**
   * The worst nested loop because of which a plan must not replace the written order; None if the plan may.
   *
   * @param least cost of all pairs, in the unit of the cost model, up to which loops are no risk
   */
  def apply(plan: JoinTree, written: JoinTree, least: Double): Option[JoinTree.Join] = {
    val (mine, theirs) = (loops(plan), loops(written))
    val added          = without(mine, theirs)
    def allowed        = Much * math.max(written.cost.total, without(theirs, mine).map(atMost).sum)
    val worst          = added.map(atMost).sum
    if (worst <= least || worst <= allowed) None else Some(added.maxBy(atMost))
  }

  /** The nested loops of a plan that the written order does not have. */
  def added(plan: JoinTree, written: JoinTree): Vector[JoinTree.Join] = without(loops(plan), loops(written))

  private def loops(tree: JoinTree): Vector[JoinTree.Join] = tree.joins.filter(_.method == JoinMethod.NestedLoop)

  /** The joins that no join of `others` equals, which has the same two sets of relations as its inputs. */
  private def without(joins: Vector[JoinTree.Join], others: Vector[JoinTree.Join]): Vector[JoinTree.Join] = {
    def sides(j: JoinTree.Join) = Set(j.left.relations, j.right.relations)
    val known                   = others.map(sides).toSet
    joins.filterNot(j => known(sides(j)))
  }

  /** Cost of comparing all pairs if both inputs have the most rows that they may have. */
  private def atMost(j: JoinTree.Join): Double = {
    def rows(t: JoinTree) = math.max(1.0, t.rows.value)
    j.own.hash / (rows(j.left) * rows(j.right)) * math.min(Estimate.Ceiling, j.left.most * j.right.most)
  }

  /**
   * Factor by which the loops may cost more at the most than the written order costs by its estimates. Estimates of
   * joins are often wrong by a factor of ten on each side, so a lower factor would forbid most good orders.
   */
  private val Much = 100.0
}
