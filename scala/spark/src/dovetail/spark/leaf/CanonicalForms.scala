package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Compares plans by Spark's canonical form where that takes little time. The form of a table takes a time quadratic in
 * the number of its columns, also of those that the query does not read.
 */
object CanonicalForms {

  /** Tables of a plan, in its order. Plans with equal canonical forms have equal tables. */
  def tables(plan: LogicalPlan): Seq[Option[String]] =
    plan.collectLeaves().collect { case l: LeafNode => LeafNames.identity(l) }

  /** Whether a plan has a table of so many columns that its canonical form takes long. */
  def takeLong(plan: LogicalPlan): Boolean = plan.collectLeaves().exists {
    case r: DataSourceV2ScanRelation => r.relation.output.size > MostColumns
    case other                       => other.output.size > MostColumns
  }

  /**
   * Whether two plans of one class make the same rows. Plans of the same tables count as the same if comparing them
   * takes long.
   */
  def same(a: LogicalPlan, b: LogicalPlan): Boolean =
    (a eq b) || (a.getClass == b.getClass && tables(a) == tables(b) && (takeLong(a) || a.sameResult(b)))

  /** The same, but plans count as different if comparing them takes long. */
  def certainlySame(a: LogicalPlan, b: LogicalPlan): Boolean = (a eq b) || (!takeLong(a) && same(a, b))

  /** Most columns of a table whose canonical form is made: with this many, it takes some ten milliseconds. */
  private val MostColumns = 1000
}
