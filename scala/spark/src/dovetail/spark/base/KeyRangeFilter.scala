package org.apache.spark.sql.dovetail.base

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.QueryPlan

/**
 * Recognizes the comparisons with the smallest and the largest key of another input that Dovetail adds to scans
 * (`plan.RangeFilters`), in logical and physical plans. The keys have names of their own, because Spark copies and
 * splits conditions.
 */
object KeyRangeFilter {
  val Smallest = "dovetail_smallest_key"
  val Largest  = "dovetail_largest_key"

  def apply(e: Expression): Boolean = e match {
    case GreaterThanOrEqual(_, end: PlanExpression[_]) => named(end, Smallest)
    case LessThanOrEqual(_, end: PlanExpression[_])    => named(end, Largest)
    case _                                             => false
  }

  private def named(end: PlanExpression[_], name: String): Boolean = end.plan match {
    case plan: QueryPlan[_] => plan.output.map(_.name) == Seq(name)
    case _                  => false
  }
}
