package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.optimizer.RewritePredicateSubquery
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.TrialSafe
import org.apache.spark.sql.execution.SparkOptimizer

/**
 * Brings a plan into the state in which its joins can be seen and sized: scans with pruned partitions and columns,
 * EXISTS and IN as semi and anti joins.
 *
 * Both come after our place in Spark's optimizer, so we run Spark's own rules early. The order matters: subqueries
 * rewritten first would hide columns from the pushdown. Spark's later runs of the same rules find nothing left to do,
 * so their time is not ours. Last, subqueries that Spark has copied are told apart.
 */
object Preparation {
  def apply(session: SparkSession, plan: LogicalPlan): LogicalPlan =
    SubqueryCopies(PlanningTime.notCounting(bySpark(session, plan)))

  private def bySpark(session: SparkSession, plan: LogicalPlan): LogicalPlan =
    RewritePredicateSubquery(pushed(session, plan))

  /** With partitions and columns of scans pruned, and nothing else. */
  def pruned(session: SparkSession, plan: LogicalPlan): LogicalPlan = PlanningTime.notCounting(pushed(session, plan))

  private def pushed(session: SparkSession, plan: LogicalPlan): LogicalPlan =
    session.sessionState.optimizer match {
      case optimizer: SparkOptimizer =>
        val excluded =
          plan.conf.optimizerExcludedRules.toSeq.flatMap(_.split(',')).map(_.trim).toSet -- optimizer.nonExcludableRules
        optimizer.earlyScanPushDownRules.filterNot(rule =>
          excluded(rule.ruleName) || (prunes(rule) && callsUser(plan))
        ).foldLeft(plan)((p, rule) => rule(p))
      case _ => plan
    }

  /**
   * It computes predicates on the partitions of a table. Spark would do so once; should our plan not be used, it does
   * so again.
   */
  private def prunes(rule: Rule[LogicalPlan]): Boolean =
    rule.ruleName.contains("Prune") && rule.ruleName.contains("Partitions")

  private def callsUser(plan: LogicalPlan): Boolean =
    plan.exists { case Filter(condition, _) => !TrialSafe(condition); case _ => false }
}
