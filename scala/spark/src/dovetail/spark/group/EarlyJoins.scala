package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SortOrder, Unevaluable}
import org.apache.spark.sql.catalyst.optimizer.EliminateSorts
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.{EXISTS_SUBQUERY, IN_SUBQUERY, SORT}
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, Movable}

/**
 * What Spark's later rules would do to a plan only because its EXISTS and IN are joins already ([[Preparation]]). Plain
 * Spark makes them joins at the very end, after these rules. The plan then stays as it is:
 *
 *  - `EliminateSorts` removes the sort below a join. In `SELECT …, k IN (SELECT …) FROM (… ORDER BY v)`, it is the
 *    user's own, and the rows of a LIMIT depend on it.
 *  - `ConvertToLocalRelation` computes a filter over constant rows on the driver. In
 *    `FROM VALUES … WHERE a / b > 0 AND a IN (…)`, the filter may fail on rows that plain Spark never filters, because
 *    the subquery has no row.
 */
object EarlyJoins {

  /**
   * Why the prepared plan must not be used, or None.
   *
   * @param before   the plan with its subqueries
   * @param prepared the same plan with joins in their place
   */
  def harm(before: LogicalPlan, prepared: LogicalPlan): Option[String] =
    if (!before.containsAnyPattern(EXISTS_SUBQUERY, IN_SUBQUERY)) None
    else lostSort(before, prepared).orElse(computedFilter(prepared))

  private def lostSort(before: LogicalPlan, prepared: LogicalPlan): Option[String] =
    if (!before.containsPattern(SORT)) None
    else {
      val lost = sorts(EliminateSorts(before)).diff(sorts(EliminateSorts(prepared)))
      lost.headOption.map { case (by, _) =>
        s"Spark would remove the sort by ${by.map(text).mkString(", ")} below the join of a subquery"
      }
    }

  private def text(by: Expression): String = by match {
    case SortOrder(column, _, _, _) => text(column)
    case a: Attribute               => a.name
    case other                      => ExpressionText(other)
  }

  /**
   * What sorts rows, and whether among all partitions. Spark 3.5 makes a range partitioning of a sort whose order
   * another one above it changes.
   */
  private def sorts(plan: LogicalPlan): Seq[(Seq[Expression], Boolean)] = plan.collect {
    case s: Sort                    => (s.order, s.global)
    case r: RepartitionByExpression => (r.partitionExpressions, true)
  }

  private def computedFilter(prepared: LogicalPlan): Option[String] = prepared.collectFirst {
    case Filter(condition, input) if isConstant(input) && isEvaluable(condition) && !Movable(condition) =>
      s"Spark would compute ${ExpressionText(condition)} while it plans, where it may fail"
  }

  private def isConstant(plan: LogicalPlan): Boolean = plan match {
    case _: LocalRelation  => true
    case Project(_, child) => isConstant(child)
    case _                 => false
  }

  private def isEvaluable(e: Expression): Boolean =
    !e.exists { case _: Attribute => false; case _: Unevaluable => true; case _ => false }
}
