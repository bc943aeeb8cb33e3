package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Exists, InSubquery}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, RowLevelWrite}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{AGGREGATE, COMMAND, EXISTS_SUBQUERY, IN_SUBQUERY, JOIN}
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen, UnknownSettings}
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.group.{FragileColumns, GroupNames, JoinGroup, Preparation, VariantExtraction}
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.log.QueryLog
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, Movable, MovableCondition}
import org.apache.spark.sql.dovetail.report.{GroupReport, Trace}

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
 * If no group changes, the rule returns the plan unchanged, apart from the scans of connectors, which Spark builds next
 * in any case. It does the same if anything goes wrong. The [[Trace]] and the session's [[QueryLog]] record what
 * happened.
 */
class ReorderJoins(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = QueryLog.keeping(session, plan)(orElseAsItCame(plan))

  private def publication = new Publication(session, conf)

  private def orElseAsItCame(plan: LogicalPlan): LogicalPlan = {
    val before = Trace.size
    Trace.start(plan)
    orElse(plan, before) {
      UnknownSettings.tell(conf)
      if (!DovetailConf.Enabled.get(conf) || ReorderJoins.writesWhatItReads(plan)) plan
      else if (worthALook(plan) && !CrossProducts.refused(plan, conf))
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

  /**
   * Whether the plan may have joins to reorder. A streaming plan stays as it is, because its operators are numbered by
   * their place in the plan.
   */
  private def worthALook(plan: LogicalPlan): Boolean = !plan.isStreaming && (
    if (plan.containsPattern(JOIN)) plan.containsAnyPattern(EXISTS_SUBQUERY, IN_SUBQUERY) || ReorderJoins.open(plan)
    else ReorderJoins.hasSemiJoins(plan)
  )

  private def reordered(plan: LogicalPlan, scanned: LogicalPlan): LogicalPlan =
    new SparkReordering(conf).needsAll(plan).orElse(VariantExtraction.failing(session, plan)) match {
      case Some(why) => Trace.record(_ => GroupReport.leftAlone(Vector.empty, why)); scanned
      case None      => allGroups(plan, scanned)
    }

  private def allGroups(plan: LogicalPlan, scanned: LogicalPlan): LogicalPlan = {
    val prepared  = Trace.timed("prepare")(Preparation(session, scanned))
    val ordering  = GroupOrdering(session, conf, plan, prepared)
    val grouped   = ordering.grouped(FragileColumns.once(bottomUp(prepared, ordering)))
    val ordered   = SameFiles(session, prepared, grouped)
    val published = if (publication.wanted(prepared)) publication(ordered, ordering.statistics) else ordered
    val result    = if (published eq prepared) scanned else verified(scanned, published)
    ordering.atRun.leaveWith(result)
    result
  }

  /**
   * Reorders all join groups of the plan. Groups inside the leaves of a group come first, because their order
   * determines the leaf's plan.
   */
  private def bottomUp(plan: LogicalPlan, ordering: GroupOrdering): LogicalPlan = plan match {
    case RowPlaces(why)                       => asWritten(plan, why); plan
    case JoinGroup(group)                     => reorder(group, ordering)
    case Filter(c, _) if !MovableCondition(c) => plan.mapChildren(belowFilter(_, ordering))
    case j: Join if pushes(j)                 => j
    case j: Join if stopsEarly(j)             => j.withNewChildren(Seq(bottomUp(j.left, ordering), j.right))
    case other                                => other.mapChildren(bottomUp(_, ordering))
  }

  /**
   * Visits the plan below a filter that may throw. Spark could not push this filter through the join below it. A
   * reordered join could let Spark push it down to rows that the written join removes, so that join keeps its place.
   */
  private def belowFilter(plan: LogicalPlan, ordering: GroupOrdering): LogicalPlan = plan match {
    case RowPlaces(_)           => bottomUp(plan, ordering)
    case _: Project | _: Filter => plan.mapChildren(belowFilter(_, ordering))
    case _: Join                => plan.mapChildren(bottomUp(_, ordering))
    case other                  => bottomUp(other, ordering)
  }

  /** Reports the groups of a plan that stays as written. */
  private def asWritten(plan: LogicalPlan, why: String): Unit = plan match {
    case JoinGroup(g) if g.leaves.size > 2 =>
      Trace.record(_ => GroupReport.leftAlone(GroupNames(g).shown, why)); g.leaves.foreach(asWritten(_, why))
    case other => other.children.foreach(asWritten(_, why))
  }

  /**
   * Whether a condition that may throw reads only one side, as the condition of a subquery may read only its outer
   * query. Spark will push it into that side, down through the joins as written.
   */
  private def pushes(j: Join): Boolean = j.condition.exists(Conjuncts(_).exists { c =>
    !Movable(c) && j.children.exists(side => c.references.subsetOf(side.outputSet))
  })

  /**
   * Whether the join looks at the rows of its right side until one satisfies its condition, which may throw on the rows
   * after it. Their order is that of the right side's joins.
   */
  private def stopsEarly(j: Join): Boolean = j.joinType match {
    case LeftSemi | LeftAnti | ExistenceJoin(_) => !j.condition.forall(Movable(_))
    case _                                      => false
  }

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

object ReorderJoins {

  /**
   * Whether the plan is a MERGE, UPDATE or DELETE on a table of a connector that replaces rows or files. Such a write
   * is bound to the scan of the table in its own plan: it removes what this scan has read. Dovetail prunes scans early,
   * and a second scan beside the first one could make the connector remove rows that the statement never saw.
   */
  private def writesWhatItReads(plan: LogicalPlan): Boolean =
    plan.containsPattern(COMMAND) && plan.exists(_.isInstanceOf[RowLevelWrite])

  /**
   * Whether the plan has at least two joins, or one that Spark will not broadcast by itself, or one with a grouping
   * below it. Subqueries are optimized as separate plans.
   */
  private def open(plan: LogicalPlan): Boolean = plan.collect { case j: Join => j } match {
    case Seq(j) =>
      j.containsPattern(AGGREGATE) || !j.children.exists(SparkBroadcast(_, plan.conf.autoBroadcastJoinThreshold)) ||
      DovetailConf.EarlyGroupingAlways.get(plan.conf)
    case joins => joins.nonEmpty
  }

  /**
   * Whether the plan has at least two EXISTS or IN subqueries, which make a group of three relations without a join.
   */
  private def hasSemiJoins(plan: LogicalPlan): Boolean = plan.containsAnyPattern(EXISTS_SUBQUERY, IN_SUBQUERY) &&
    plan.collect { case Filter(c, _) => c.collect { case e @ (_: Exists | _: InSubquery) => e } }.flatten.size > 1
}
