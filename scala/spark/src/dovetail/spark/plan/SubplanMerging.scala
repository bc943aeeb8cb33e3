package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.util.Utils

/**
 * Spark's rule `MergeSubplans` (from Spark 4.2 on). It computes groupings without keys together if their plans are the
 * same but for the functions: several figures over one join need one pass. The rule comes after Dovetail's. Filters and
 * early groupings that differ between such plans would keep it from that, and it may put one of them into a subquery.
 */
private[dovetail] object SubplanMerging {

  /** Whether Spark may compute groupings of this query together. */
  def mayMerge(query: LogicalPlan): Boolean = exists && query.collectWithSubqueries {
    case a: Aggregate if a.groupingExpressions.isEmpty && (a ne query) => a
  }.size > 1

  /** Whether this line of Spark has the rule. */
  lazy val exists: Boolean = Names.exists(Utils.classIsLoadable)

  /** Its names in the lines of Spark. */
  private val Names = Vector(
    "org.apache.spark.sql.catalyst.optimizer.MergeSubplans",
    "org.apache.spark.sql.execution.planmerging.MergeSubplans"
  )
}
