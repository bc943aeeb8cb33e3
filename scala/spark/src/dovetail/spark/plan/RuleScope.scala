package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{Exists, InSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LeafNode, LogicalPlan, RowLevelWrite}
import org.apache.spark.sql.catalyst.trees.TreePattern.{AGGREGATE, COMMAND, EXISTS_SUBQUERY, IN_SUBQUERY, JOIN}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

/** Which plans [[ReorderJoins]] has to do with, told from their operators in little time: most plans have no joins. */
private[plan] object RuleScope {

  /**
   * Whether the plan may have joins to reorder. A streaming plan stays as it is, because its operators are numbered by
   * their place in the plan.
   */
  def mayHaveJoinsToOrder(plan: LogicalPlan): Boolean = !plan.isStreaming && (
    if (plan.containsPattern(JOIN)) plan.containsAnyPattern(EXISTS_SUBQUERY, IN_SUBQUERY) || open(plan)
    else hasSemiJoins(plan)
  )

  /**
   * Whether the plan is a MERGE, UPDATE or DELETE on a table of a connector that replaces rows or files. Such a write
   * is bound to the scan of the table in its own plan: it removes what this scan has read. Dovetail prunes scans early,
   * and a second scan beside the first one could make the connector remove rows that the statement never saw.
   */
  def writesWhatItReads(plan: LogicalPlan): Boolean =
    plan.containsPattern(COMMAND) && plan.exists(_.isInstanceOf[RowLevelWrite])

  /** Whether the plan fills a cache: Spark plans it with auto-bucketed scans switched off. */
  def fillsCache(conf: SQLConf): Boolean = !conf.autoBucketedScanEnabled

  /**
   * Whether the plan has at least two joins, or one that Spark will not broadcast by itself, or one with a grouping
   * below it, or one over a connector, or one with a large table of which row groups may be skipped. Subqueries are
   * optimized as separate plans.
   */
  private def open(plan: LogicalPlan): Boolean = plan.collect { case j: Join => j } match {
    case Seq(j) =>
      // in this order: a connector must not be asked for its size here
      j.containsPattern(AGGREGATE) || readsConnector(j) ||
      !j.children.exists(SparkBroadcast(_, plan.conf.autoBroadcastJoinThreshold)) ||
      DovetailConf.EarlyGroupingAlways.get(plan.conf) || DovetailConf.ReducersAlways.get(plan.conf) ||
      RangeFilters.mayPay(plan, plan.conf)
    case joins => joins.nonEmpty
  }

  /**
   * Whether the plan reads a table of a connector whose scan is not built yet. To tell its size, Spark would build a
   * scan of the whole table and throw it away: Iceberg then plans all files, whatever the query's filters are. The scan
   * that [[ReorderJoins]] has Spark build next knows the filters, and tells the size of what they leave.
   */
  private def readsConnector(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[DataSourceV2Relation])

  /**
   * Whether the plan has at least two EXISTS or IN subqueries, which make a group of three relations without a join, or
   * one beside a large table that may be filtered.
   */
  private def hasSemiJoins(plan: LogicalPlan): Boolean = plan.containsAnyPattern(EXISTS_SUBQUERY, IN_SUBQUERY) && (
    plan.collect { case Filter(c, _) => c.collect { case e @ (_: Exists | _: InSubquery) => e } }.flatten.size > 1 ||
      plan.collectWithSubqueries { case r: LeafNode => r }.exists(RangeFilters.scansLargeTable)
  )
}
