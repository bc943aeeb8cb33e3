package org.apache.spark.sql.dovetail.plan

import java.util.IdentityHashMap

import dovetail.kernel.graph.Clustering
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project, Window}
import org.apache.spark.sql.dovetail.predicates.Widths
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.internal.SQLConf

/**
 * The groupings and windows of a plan that read joined rows. Spark makes an exchange for them unless the joins have
 * partitioned the rows by some of their columns (`EnsureRequirements`), so the search counts this exchange
 * ([[Clustering]]).
 *
 * Only projections and filters may lie between the joins and the grouping. The row copies of ROLLUP, CUBE and GROUPING
 * SETS are grouped by columns that no join has.
 */
final class ClusteringAbove(plan: LogicalPlan, planner: Planner, statistics: PlanStatistics) {
  import ClusteringAbove._

  private val found = new IdentityHashMap[LogicalPlan, Clustered]
  if (planner.countsGroupings) plan.foreach {
    case a: Aggregate => enter(a.child, a, columns(a.groupingExpressions))
    case w: Window    => enter(w.child, w, columns(w.partitionSpec))
    case _            => ()
  }

  /**
   * What the operator above the joins of a group needs. None if it needs nothing, or if none of its columns is a join
   * key.
   *
   * @param top   topmost plan of the group
   * @param isKey whether a column is a join key of the group, and no other join key is computed from it
   */
  def apply(top: LogicalPlan, isKey: Attribute => Boolean): Option[Clustering] =
    Option(found.get(top)).flatMap { c =>
      val keys = c.columns.filter(isKey)
      if (keys.isEmpty || (keys.size < c.columns.size && needsAll)) None
      else Some(clustering(c, keys))
    }

  private def clustering(of: Clustered, keys: Seq[Attribute]): Clustering = {
    val groups = of.operator match {
      case a: Aggregate => statistics(a).rows.value
      case _            => Double.PositiveInfinity
    }
    val width = of.operator.output.map(a => Widths.ofType(a.dataType).mean).sum
    val tasks = InputTasks.ofLargest(of.operator)
    Clustering(keys.map(_.exprId.id).toSet, groups, tasks, planner.constants.exchange(1.0, width))
  }

  /** Whether the operator exchanges its rows unless they are partitioned by all of its columns. */
  private def needsAll: Boolean = plan.conf.getConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_DISTRIBUTION)

  /** Enters the plans between the operator and the joins below it, each with the columns as this plan has them. */
  private def enter(below: LogicalPlan, operator: LogicalPlan, columns: Seq[Attribute]): Unit =
    if (columns.nonEmpty) {
      found.put(below, Clustered(operator, columns))
      below match {
        case p: Project =>
          val sources = AttributeMap(p.projectList.collect { case a @ Alias(c: Attribute, _) => a.toAttribute -> c })
          enter(p.child, operator, columns.map(c => sources.getOrElse(c, c)).filter(p.child.outputSet.contains))
        case f: Filter => enter(f.child, operator, columns)
        case _         => ()
      }
    }
}

private object ClusteringAbove {

  /** @param columns columns of the operator that are columns of the joins, too */
  final case class Clustered(operator: LogicalPlan, columns: Seq[Attribute])

  private def columns(of: Seq[Expression]): Seq[Attribute] = of.collect { case a: Attribute => a }.distinct
}
