package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.group.Preparation
import org.apache.spark.sql.dovetail.leaf.PublishedRelation
import org.apache.spark.sql.dovetail.predicates.Movable
import org.apache.spark.sql.dovetail.report.Trace
import org.apache.spark.sql.dovetail.stats.{PlanStatistics, PublishedStatistics}
import org.apache.spark.sql.dovetail.table.PrivateColumns
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/**
 * Puts Dovetail's statistics into the relations of a plan ([[PublishedRelations]]) if `spark.dovetail.stats.publish` is
 * on. After that, Spark's optimizer works with them.
 *
 * Publication comes after scans are pruned ([[Preparation]]), because Spark replaces the relation of a scan that it
 * prunes. It also comes after the joins are ordered, because ordering asks for the sizes with which Spark will plan.
 */
final class Publication(session: SparkSession, conf: SQLConf) {
  private lazy val hidden = PrivateColumns(conf)

  /**
   * Whether `plan` has relations to publish statistics for, and publishing them does no harm. Cached data keeps the
   * statistics of its plan, and adaptive execution takes their row count for a fact until the data is there.
   */
  def wanted(plan: LogicalPlan): Boolean = DovetailConf.StatsPublish.get(conf) && !plan.isStreaming &&
    !plan.isInstanceOf[V2WriteCommand] && plan.exists(Publication.readsFiles) &&
    !RuleScope.fillsCache(conf) && !mayFail(plan)

  /** Publishes statistics in a plan that has no joins to order. */
  def apply(plan: LogicalPlan): LogicalPlan =
    FailOpen("publishing statistics", (_: String) => plan)(PlanningTime.orNone {
      val pruned = Preparation.pruned(session, plan)
      val result = published(pruned, PlanStatistics.of(session, conf, plan, pruned))
      if (result eq pruned) plan else result
    }.getOrElse(plan))

  /**
   * @param ordered    plan whose scans are pruned
   * @param statistics statistics that have learned from the plan
   */
  def apply(ordered: LogicalPlan, statistics: PlanStatistics): LogicalPlan =
    FailOpen("publishing statistics", (_: String) => ordered)(
      PlanningTime.orNone(published(ordered, statistics)).getOrElse(ordered)
    )

  private def published(plan: LogicalPlan, statistics: PlanStatistics): LogicalPlan = Trace.timed("publish")(
    plan.transform {
      case r: LogicalRelation if Publication.readsFiles(r) =>
        PublishedStatistics(r, statistics(r), (a: Attribute) => hidden(r, a.name)).fold(r)(PublishedRelation(r, _))
    }
  )

  /**
   * Whether an expression may fail because Spark's own reordering is on. With Dovetail's statistics it would find
   * another order than without them, in which an expression may be evaluated on rows that it fails on.
   */
  private def mayFail(plan: LogicalPlan): Boolean = new SparkReordering(conf).isOn && plan.exists {
    case j: Join => j.exists(_.expressions.exists(e => e.references.nonEmpty && !Movable(e)))
    case _       => false
  }
}

object Publication {

  /** Whether the plan is a relation of files without published statistics. */
  private def readsFiles(plan: LogicalPlan): Boolean = plan match {
    case _: PublishedRelation => false
    case r: LogicalRelation   => r.relation.isInstanceOf[HadoopFsRelation] && !r.isStreaming
    case _                    => false
  }
}
