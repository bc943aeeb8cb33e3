package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.catalyst.optimizer.{ColumnPruning, NormalizeFloatingNumbers}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.group.JoinGroup

/**
 * The join of the inputs that the keys of a filter come from ([[ReducerFilters]], [[RangeFilters]]). It reads the same
 * inputs under the same names, as Spark's subqueries do, so Spark finds equal exchanges and subqueries and reuses them.
 *
 * @param links equalities between two sets of inputs
 */
final class KeySource(leaves: Vector[LogicalPlan], links: (Set[Int], Set[Int]) => Vector[Expression]) {

  /** @param tested inputs that only restrict others: each row stays one row */
  def apply(by: Vector[Int], tested: Set[Int]): LogicalPlan =
    by.tail.foldLeft((leaves(by.head), Set(by.head))) { case ((plan, joined), i) =>
      val on                = links(joined, Set(i)).reduceOption(And(_, _))
      val (joinType, after) = if (tested(i)) (LeftSemi, joined) else (Inner, joined + i)
      (Join(plan, leaves(i), joinType, on, JoinGroup.Mark), after)
    }._1
}

object KeySource {

  /**
   * The plan of a subquery over a source, ready for physical planning: Spark has optimized the subqueries of the query
   * already. Without the second rule, -0.0 has no partner in 0.0.
   */
  def prepared(plan: LogicalPlan): LogicalPlan = NormalizeFloatingNumbers(ColumnPruning(plan))
}
