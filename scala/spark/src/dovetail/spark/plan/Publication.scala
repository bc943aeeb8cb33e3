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
 * Puts our statistics into the relations of a plan ([[Published]]), where `spark.dovetail.stats.publish` is on: from
 * there on Spark's optimizer works with them.
 *
 * Scans have to be pruned by then ([[Preparation]]): Spark makes a new relation of one that it prunes. It comes after
 * the joins were ordered, which asks for the sizes that Spark is going to plan with.
 */
final class Publication(session: SparkSession, conf: SQLConf) {
  private lazy val hidden = PrivateColumns(conf)

  /** There is something to be published in `plan`, and it does no harm. */
  def wanted(plan: LogicalPlan): Boolean = DovetailConf.StatsPublish.get(conf) && !plan.isStreaming &&
    !plan.isInstanceOf[V2WriteCommand] && plan.exists(Publication.readsFiles) && !fillsCache && !mayFail(plan)

  /** All of a plan in which no joins are to be ordered. */
  def apply(plan: LogicalPlan): LogicalPlan =
    FailOpen("publishing statistics", (_: String) => plan)(PlanningTime.orNone {
      val pruned = Preparation.pruned(session, plan)
      val result = published(pruned, PlanStatistics.of(session, conf, plan, pruned))
      if (result eq pruned) plan else result
    }.getOrElse(plan))

  /**
   * @param ordered    with its scans pruned
   * @param statistics that have learned of it
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
   * The plan is that of cached data, which keeps its statistics: adaptive execution takes the rows in them for a fact
   * until the data is there. Spark plans it with a setting of its own.
   */
  private def fillsCache: Boolean = !conf.getConf(SQLConf.AUTO_BUCKETED_SCAN_ENABLED)

  /**
   * Spark's own reordering is on, which by our statistics would find another order than without them, and in that order
   * an expression might meet rows that it fails on.
   */
  private def mayFail(plan: LogicalPlan): Boolean = new SparkReordering(conf).isOn && plan.exists {
    case j: Join => j.exists(_.expressions.exists(e => e.references.nonEmpty && !Movable(e)))
    case _       => false
  }
}

object Publication {

  /** It is a relation of files, not published yet. */
  private def readsFiles(plan: LogicalPlan): Boolean = plan match {
    case _: PublishedRelation => false
    case r: LogicalRelation   => r.relation.isInstanceOf[HadoopFsRelation] && !r.isStreaming
    case _                    => false
  }
}
