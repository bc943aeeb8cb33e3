package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.JoinMethod
import dovetail.kernel.enumerate.{JoinTree, LoopRisk, Outcome}
import dovetail.kernel.graph.Operator
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}

/**
 * Finds inputs that a new order would copy to every task, and that may not fit into memory.
 *
 * Spark broadcasts one side of an outer, semi or anti join without an equality whatever its size, because it has no
 * other way to run such a join. The same is true of a NOT IN. In a new order, this side may have more relations than in
 * the written one, or it may be the other side, and no bound of the search applies to it: the search has no other join
 * method to choose either. An inner join without an equality is a Cartesian product if neither side is broadcast, which
 * reads one side once for each partition of the other. A cost model without a price for such joins may not add any.
 *
 * @param top     the group as written
 * @param written inputs of the written joins of which Spark makes copies ([[Planner.builtAsWritten]])
 */
final class CopiedInputs(top: LogicalPlan, leaves: Vector[LogicalPlan], written: java.util.Set[LogicalPlan]) {
  import CopiedInputs._

  /**
   * Why the best order must not be taken, or None.
   *
   * @param broadcasts broadcasts of the order
   * @param memory     bytes of memory that a side may take which Spark broadcasts for lack of another way
   * @param names      names of the relations
   * @param priced     whether the cost model counts the pairs of rows that a nested loop compares
   */
  def exceeding(
      outcome: Outcome,
      broadcasts: => GroupBroadcasts,
      memory: Double,
      names: Vector[String],
      priced: Boolean
  ): Option[String] = {
    val best                = outcome.best
    def called(t: JoinTree) = t.relations.map(names).mkString(", ")
    best.joins.flatMap(copied(_, memory)).headOption.map(input =>
      s"Spark would have to broadcast ${called(input)} for lack of another way to run " +
        "the join, and that may take more memory than there is"
    ).orElse(newProduct(best, broadcasts).map(j =>
      s"Spark would read ${called(j.left)} once for each partition of " +
        s"${called(j.right)}: neither of them may be broadcast, and there is no equality"
    )).orElse((if (priced) None else LoopRisk.added(best, outcome.original).headOption).map(j =>
      s"the join of ${called(j.left)} with " +
        s"${called(j.right)} has no equality, and the cost model has no price for it"
    ))
  }

  /** The input of a join that Spark broadcasts whatever its size, if it may take too much memory. */
  private def copied(j: JoinTree.Join, memory: Double): Option[JoinTree] = j.operator match {
    case Some(o) if j.right.memory > memory =>
      val asWritten = j.right.relations == o.right && (o.execution == Operator.ByCopy || isBuilt(o))
      if ((isNew(j, o) || o.execution == Operator.ByCopy) && !asWritten) Some(j.right) else None
    case _ => None
  }

  /** Whether Spark copies the right side of the written join, too. Told only of a single relation. */
  private def isBuilt(o: Operator): Boolean = o.right.size == 1 && written.contains(leaves(o.right.head))

  /** A Cartesian product, if the written order has none. */
  private def newProduct(best: JoinTree, broadcasts: GroupBroadcasts): Option[JoinTree.Join] =
    best.joins.find(j => j.operator.isEmpty && j.method == JoinMethod.NestedLoop && !broadcasts.copies(j))
      .filter(_ => !top.exists { case j: Join => SparkBuildSide.isProduct(j); case _ => false })
}

object CopiedInputs {

  /** Whether a plan has joins without a hash table, or NOT IN. */
  def possible(plan: JoinTree): Boolean =
    plan.joins.exists(j => j.operator.fold(j.method == JoinMethod.NestedLoop)(_.copies))

  /** Whether a join without keys, which is not inner, has other inputs than in the written order. */
  def isNew(j: JoinTree.Join, o: Operator): Boolean =
    !o.equi && o.execution != Operator.ByCopy && (j.left.relations != o.left || j.right.relations != o.right)
}
