package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{CollectMetrics, Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup}
import org.apache.spark.sql.dovetail.plan.RowPlaces.isObserved
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, Movable, MovableCondition}
import org.apache.spark.sql.dovetail.report.{GroupReport, Trace}

/**
 * Finds the join groups of a plan that may get another order. The joins below some operators and some filters keep
 * theirs, because what these return or whether they fail depends on it.
 *
 * @param order orders one group, and by another walk the groups inside its leaves
 */
final private[plan] class GroupWalk(order: JoinGroup => LogicalPlan) {

  /**
   * Reorders all join groups of the plan. Groups inside the leaves of a group come first, because their order
   * determines the leaf's plan.
   */
  def apply(plan: LogicalPlan): LogicalPlan = walk(plan, observed = false)

  /**
   * @param observed whether a join above has an input that collects metrics (`observe`). If another order finds out
   *                 earlier that the joins have no rows, adaptive execution drops that input before it has run. Below
   *                 the metrics, it drops nothing.
   */
  private def walk(plan: LogicalPlan, observed: Boolean): LogicalPlan = plan match {
    case RowPlaces(why)                       => asWritten(plan, why); plan
    case m: CollectMetrics                    => m.mapChildren(apply)
    case JoinGroup(g)                         => if (observed || g.leaves.exists(isObserved)) kept(g) else order(g)
    case Filter(c, _) if !MovableCondition(c) => plan.mapChildren(belowFilter(_, observed))
    case j: Join if pushes(j)                 => j
    case j: Join if stopsEarly(j) => j.withNewChildren(Seq(walk(j.left, observed || isObserved(j)), j.right))
    case j: Join                  => j.mapChildren(walk(_, observed || isObserved(j)))
    case other                    => other.mapChildren(walk(_, observed))
  }

  /** The group as written, with the groups inside its leaves. */
  private def kept(group: JoinGroup): LogicalPlan = {
    report(group, "the metrics of an observed input need all of its rows")
    WrittenOrder(group, group.leaves.map(walk(_, observed = true)), marks = false)
  }

  /**
   * Visits the plan below a filter that may throw. Spark could not push this filter through the join below it. A
   * reordered join could let Spark push it down to rows that the written join removes, so that join keeps its place.
   */
  private def belowFilter(plan: LogicalPlan, observed: Boolean): LogicalPlan = plan match {
    case RowPlaces(_)           => walk(plan, observed)
    case _: Project | _: Filter => plan.mapChildren(belowFilter(_, observed))
    case j: Join                => j.mapChildren(walk(_, observed || isObserved(j)))
    case other                  => walk(other, observed)
  }

  /** Reports the groups of a plan that stays as written. */
  private def asWritten(plan: LogicalPlan, why: String): Unit = plan match {
    case JoinGroup(g) if isOrdered(g) => report(g, why); g.leaves.foreach(asWritten(_, why))
    case other                        => other.children.foreach(asWritten(_, why))
  }

  private def report(group: JoinGroup, why: String): Unit =
    if (isOrdered(group)) Trace.record(_ => GroupReport.leftAlone(GroupNames(group).shown, why))

  /** Whether a group has other orders than the written one. */
  private def isOrdered(group: JoinGroup): Boolean = group.leaves.size > 2

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
}
