package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen, UnknownSettings}
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.group.{EarlyJoins, FragileColumns, JoinGroup, Preparation, VariantExtraction}
import org.apache.spark.sql.dovetail.log.QueryLog
import org.apache.spark.sql.dovetail.report.{GroupReport, Trace}
import org.apache.spark.sql.dovetail.stats.ColumnRanges

/**
 * Dovetail's optimizer rule: finds join groups in a logical plan and puts each into its best order.
 *
 * {{{
 * LogicalPlan ─Preparation→ scans pruned, EXISTS/IN as joins ─JoinGroup→ leaves, conditions, written order
 *             ─SemiJoinReduction→ groupings of fewer rows ─GroupGraph→ JoinGraph with sizes (PlanStatistics) ─Search→
 *             JoinTree ─RebuildPlan→ LogicalPlan
 * }}}
 *
 * It runs among the pre-CBO rules, once per query and once per subquery, all within one time budget ([[PlanningTime]]).
 * If no group changes, the rule returns the plan unchanged, apart from the scans of connectors and the partitions of
 * tables, which Spark finds next in any case. It does the same if anything goes wrong. The [[Trace]] and the session's
 * [[QueryLog]] record what happened.
 */
class ReorderJoins(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = QueryLog.keeping(session, plan)(orUnchanged(plan))

  private def publication = new Publication(session, conf)

  private def orUnchanged(plan: LogicalPlan): LogicalPlan = {
    val before = Trace.size
    Trace.start(plan)
    orElse(plan, before) {
      UnknownSettings.tell(conf)
      if (!DovetailConf.Enabled.get(conf) || RuleScope.writesWhatItReads(plan)) plan
      else if (RuleScope.mayHaveJoinsToOrder(plan) && !CrossProducts.refused(plan, conf))
        Trace.timed("total")(PlanningTime.ofQuery(conf)(inTime(plan, before)))
      else if (publication.wanted(plan)) PlanningTime.ofQuery(conf)(publication(plan))
      else plan
    }
  }

  /** The plan that `body` returns, or the given one if it fails. */
  private def orElse(plan: LogicalPlan, before: Int)(body: => LogicalPlan): LogicalPlan =
    FailOpen("reordering joins", (why: String) => { Trace.failed(before, why); plan })(body)

  private def inTime(plan: LogicalPlan, before: Int): LogicalPlan = {
    // not the plan as it came: Spark would build the scans of connectors a second time
    val scanned = Preparation.withScans(session, plan)
    val result  = orElse(scanned, before) {
      PlanningTime.orNone(reordered(plan, scanned)).getOrElse { Trace.failed(before, TimeIsUp.reason); scanned }
    }
    val cuts = PlanningTime.takeCuts()
    if (cuts.nonEmpty) Trace.record(_ => GroupReport.leftAlone(Vector.empty, cuts.mkString("; ")))
    result
  }

  private def reordered(plan: LogicalPlan, scanned: LogicalPlan): LogicalPlan = {
    lazy val prepared = Trace.timed("prepare")(Preparation(session, scanned))
    val reason        = new SparkReordering(conf).needsAll(plan).orElse(VariantExtraction.failing(session, plan))
    reason.orElse(EarlyJoins.harm(scanned, prepared)) match {
      case Some(why) => Trace.record(_ => GroupReport.leftAlone(Vector.empty, why)); scanned
      case None      => allGroups(plan, scanned, prepared)
    }
  }

  /** The steps in their order, from the plan to the plan with ordered groups. */
  private def allGroups(plan: LogicalPlan, scanned: LogicalPlan, prepared: LogicalPlan): LogicalPlan = {
    val ordering = GroupOrdering(session, conf, plan, prepared)
    ColumnRanges.learn(prepared, ordering.statistics)
    val grouped   = ordering.grouped(FragileColumns.once(bottomUp(prepared, ordering)))
    val ordered   = SameFiles(session, prepared, grouped)
    val published = if (publication.wanted(prepared)) publication(ordered, ordering.statistics) else ordered
    val result    = if (published eq prepared) scanned else verified(scanned, published)
    ordering.atRun.leaveWith(result)
    result
  }

  private def bottomUp(plan: LogicalPlan, ordering: GroupOrdering): LogicalPlan =
    new GroupWalk(reorder(_, ordering))(plan)

  /** Orders one group, and the groups inside its leaves. Also a hook for tests that need the rule to fail. */
  protected def reorder(group: JoinGroup, ordering: GroupOrdering): LogicalPlan = ordering(group, bottomUp(_, ordering))

  private def verified(before: LogicalPlan, after: LogicalPlan): LogicalPlan = {
    assert(
      !CrossProducts.refused(after, conf),
      "the reordered plan has a cross product, which spark.sql.crossJoin.enabled=false forbids"
    )
    assert(
      after.resolved && after.output.map(_.exprId) == before.output.map(_.exprId),
      "the reordered plan lost its output"
    )
    after
  }
}
