package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan, Window}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.leaf.CanonicalForms

/**
 * Joins, groupings and windows that a query has several times. Spark computes a repeated part once, as long as all of
 * its copies stay the same: a filter or a semi join in one of them has it computed twice. Groupings and windows are
 * compared by their inputs, because two of them over the same rows may differ in columns alone.
 */
final class RepeatedParts(query: LogicalPlan) {
  import RepeatedParts._

  private lazy val repeated: Set[LogicalPlan] =
    again.filterNot(CanonicalForms.takeLong).groupBy(canonical).collect { case (form, all) if all.size > 1 => form }
      .toSet

  /** Parts of the query that read the same tables as other parts. */
  private lazy val again: Vector[LogicalPlan] =
    query.collect(computed).toVector.groupBy(CanonicalForms.tables).valuesIterator.filter(_.size > 1).flatten.toVector

  private lazy val tablesAgain: Set[Seq[Option[String]]] = again.map(CanonicalForms.tables).toSet

  /** Whether the query has a part of this plan twice, or seems to, if a closer look takes long. */
  def apply(plan: LogicalPlan): Boolean = plan.collect(computed)
    .exists(p => tablesAgain(CanonicalForms.tables(p)) && (CanonicalForms.takeLong(p) || repeated(canonical(p))))
}

private object RepeatedParts {
  private val computed: PartialFunction[LogicalPlan, LogicalPlan] = {
    case a: Aggregate => a.child
    case w: Window    => w.child
    case j: Join      => j
  }

  private def canonical(plan: LogicalPlan): LogicalPlan = { PlanningTime.check(); plan.canonicalized }
}
