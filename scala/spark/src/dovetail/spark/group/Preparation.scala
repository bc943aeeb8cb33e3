package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{And, Expression, Or, SubqueryExpression}
import org.apache.spark.sql.catalyst.optimizer.RewritePredicateSubquery
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, UnprunedTables}
import org.apache.spark.sql.dovetail.leaf.PartitionColumns
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, TrialSafe}
import org.apache.spark.sql.execution.SparkOptimizer
import org.apache.spark.sql.execution.datasources.V1Writes
import org.apache.spark.sql.execution.datasources.v2.V2Writes

/**
 * Brings a plan into a state in which Dovetail can see its joins and estimate their sizes: scans with pruned partitions
 * and columns, EXISTS and IN as semi and anti joins, sizes of common table expressions.
 *
 * Spark does it all only after Dovetail's rule, so we run Spark's own rules early. The pushdown comes first, because
 * rewritten subqueries would hide columns from it. When Spark runs the same rules later, they find nothing left to do
 * in a plan that Dovetail changed, so their time does not count as Dovetail's. If the plan stays as it is, Spark runs
 * them again, with two exceptions that may take long: a connector may start work for each scan that it builds, and a
 * metastore may take seconds to find partitions. So these scans are made once and stay in the plan
 * ([[Preparation.withScans]]). Rules that find nothing in this plan do not run
 * early ([[IdleRules]]). The last step tells copies of a subquery apart ([[SubqueryCopies]]).
 *
 * Rules that build writes do not run early. A connector may bind a write to the scan of that moment, and if Dovetail's
 * plan is not used, Spark builds another scan for the same write. Nor does the rule run early that has a scan extract
 * paths of VARIANT values: the plan would no longer show an expression that may fail, nor which path it is. It runs if
 * statistics are published, because it replaces relations, which would lose them later
 * ([[org.apache.spark.sql.dovetail.leaf.ExtractedVariants]] finds these paths then).
 */
object Preparation {
  def apply(session: SparkSession, plan: LogicalPlan): LogicalPlan =
    SubqueryCopies(PlanningTime.notCounting(bySpark(session, plan)))

  private def bySpark(session: SparkSession, plan: LogicalPlan): LogicalPlan =
    RewritePredicateSubquery(sized(session, pushed(session, plan)))

  /**
   * The plan in which references to common table expressions have a size, by which Spark decides on broadcasts. In the
   * plan of a subquery they have none, because the expressions are outside of it.
   */
  private def sized(session: SparkSession, plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(CTE)) plan
    else {
      val optimizer = session.sessionState.optimizer
      optimizer.UpdateCTERelationStats(plan)
    }

  /**
   * The plan with the scans of its connectors and the partitions of its tables, as Spark finds them next, and no other
   * change.
   */
  def withScans(session: SparkSession, plan: LogicalPlan): LogicalPlan = {
    val idle       = new IdleRules(plan)
    lazy val quiet = !leavesPartitions(plan)
    if (!idle.connected && !idle.partitioned) plan
    else
      PlanningTime.notCounting(early(session, plan)(rule =>
        (idle.connected && idle.isForConnectors(rule)) || (idle.partitioned && prunes(rule) && quiet)
      ))
  }

  /** The plan with partitions and columns of its scans pruned, and no other change. */
  def pruned(session: SparkSession, plan: LogicalPlan): LogicalPlan = PlanningTime.notCounting(pushed(session, plan))

  private def pushed(session: SparkSession, plan: LogicalPlan): LogicalPlan = {
    val published = DovetailConf.StatsPublish.get(plan.conf)
    val idle      = new IdleRules(plan)
    early(session, plan)(rule =>
      !builds(
        rule
      ) && !idle.contains(rule) && (published || !extracts(rule)) && !(prunes(rule) && leavesPartitions(plan))
    )
  }

  /** The plan after those of Spark's rules for scans that `runs` selects and the user has not excluded. */
  private def early(session: SparkSession, plan: LogicalPlan)(runs: Rule[LogicalPlan] => Boolean): LogicalPlan =
    scanRules(session, plan).filter(runs).foldLeft(plan)((p, rule) => rule(p))

  /** Spark's rules for scans, without those that the user has excluded. */
  def scanRules(session: SparkSession, plan: LogicalPlan): Seq[Rule[LogicalPlan]] =
    session.sessionState.optimizer match {
      case optimizer: SparkOptimizer =>
        val excluded =
          plan.conf.optimizerExcludedRules.toSeq.flatMap(_.split(',')).map(_.trim).toSet -- optimizer.nonExcludableRules
        optimizer.earlyScanPushDownRules.filterNot(rule => excluded(rule.ruleName))
      case _ => Nil
    }

  /** Whether the rule builds writes. */
  private def builds(rule: Rule[LogicalPlan]): Boolean = (rule eq V1Writes) || (rule eq V2Writes)

  /** Whether the rule moves expressions on VARIANT values into scans. Spark 3.5 and 4.0 have none. */
  private def extracts(rule: Rule[LogicalPlan]): Boolean =
    rule.ruleName.endsWith(".PushVariantIntoScan") || VariantExtraction.isIt(rule)

  /**
   * Whether the rule computes predicates on the partitions of a table. If Dovetail's plan is not used, Spark computes
   * them a second time. So the rule is skipped for a plan that calls user code.
   */
  private def prunes(rule: Rule[LogicalPlan]): Boolean =
    rule.ruleName.contains("Prune") && rule.ruleName.contains("Partitions")

  /** Whether partitions are not pruned early. Notes it, so that nobody asks for the files of all of them. */
  private def leavesPartitions(plan: LogicalPlan): Boolean = {
    val is = callsUser(plan)
    if (is) UnprunedTables.mark()
    is
  }

  /**
   * Whether a predicate that Spark computes for each partition calls user code. It computes deterministic predicates
   * without subqueries, and the parts of them that read only partition columns.
   */
  private def callsUser(plan: LogicalPlan): Boolean = {
    lazy val partitions               = plan.collectLeaves().flatMap(PartitionColumns(_)).toSet
    def calls(e: Expression): Boolean = e match {
      case And(l, r) => calls(l) || calls(r)
      case Or(l, r)  => calls(l) || calls(r)
      case part      => !TrialSafe(part) && part.references.forall(a => partitions(a.exprId.id))
    }
    plan.exists {
      case Filter(condition, _) =>
        Conjuncts(condition).exists(c => c.deterministic && !SubqueryExpression.hasSubquery(c) && calls(c))
      case _ => false
    }
  }
}
