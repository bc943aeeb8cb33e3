package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.util.Utils

/**
 * Spark's rule `MergeSubplans` (from Spark 4.2 on). It computes groupings without keys together if their plans are the
 * same but for the functions: several figures over one join need one pass. The rule comes after Dovetail's. Filters and
 * early groupings that differ between such plans would keep it from that, and it may put one of them into a subquery.
 */
private[dovetail] object SubplanMerging {

  /**
   * Whether Spark may compute a part of this query together with another one. A grouping at the top of a scalar
   * subquery is merged with others of its kind, which leaves the rest of the query as it is.
   */
  def mayMerge(query: LogicalPlan): Boolean = exists && {
    def mayBePart(p: LogicalPlan) = p match {
      case a: Aggregate => a.groupingExpressions.isEmpty && (a ne query)
      case _            => false
    }
    query.exists(mayBePart) && query.collectWithSubqueries { case p if mayBePart(p) => p }.size > 1
  }

  /** Whether this line of Spark has the rule. */
  lazy val exists: Boolean = Names.exists(Utils.classIsLoadable)

  /** Its names in the lines of Spark. */
  private val Names = Vector(
    "org.apache.spark.sql.catalyst.optimizer.MergeSubplans",
    "org.apache.spark.sql.execution.planmerging.MergeSubplans"
  )
}
