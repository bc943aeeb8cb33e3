package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.CostBasedJoinReorder
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, ExpressionText, Movable}
import org.apache.spark.sql.internal.SQLConf

/**
 * Spark's own cost-based reordering, which runs after Dovetail's rule if it is on in a session. It must not undo
 * Dovetail's decisions. If an expression may fail, the relevant plain order is not the written one but the one that
 * this reordering makes.
 */
final class SparkReordering(conf: SQLConf) {
  val isOn: Boolean = conf.cboEnabled && conf.joinReorderEnabled

  /** The plan with its joins in the order in which plain Spark runs them. */
  def apply(written: LogicalPlan): LogicalPlan = if (isOn) CostBasedJoinReorder(written) else written

  /**
   * Why the plan must stay unchanged for Spark's reordering, or None: this reordering moves conditions that may throw
   * together with their joins, and their new place depends on all joins around them.
   */
  def needsAll(plan: LogicalPlan): Option[String] = if (!isOn) None
  else plan.collectFirst { case Throws(condition) =>
    s"the condition ${ExpressionText(condition)} may fail on some rows, and " +
      s"${SQLConf.JOIN_REORDER_ENABLED.key} (enabled) decides where it is evaluated"
  }

  private object Throws {
    def unapply(plan: LogicalPlan): Option[Expression] = plan match {
      case j: Join if j.joinType.isInstanceOf[InnerLike] =>
        j.condition.toSeq.flatMap(Conjuncts(_)).find(c => !Movable(c) && c.references.nonEmpty)
      case _ => None
    }
  }
}
