package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.dovetail.group.SubqueryCopies
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types._

/**
 * Inputs that may be read a second time for their keys, to keep rows of other inputs away: [[SemiJoinReduction]] and
 * Bloom filters ([[ReducerFilters]]).
 */
object RereadInput {

  /**
   * Rows of one table, by predicates: the same each time that they are read. Not what a program makes, nor another
   * system's table; nor what fails where it is computed for all rows, as a broadcast does.
   */
  def apply(plan: LogicalPlan): Boolean =
    plan.deterministic && !plan.containsPattern(PLAN_EXPRESSION) && ofTable(plan) && !SparedInputs.mayFail(plan)

  private def ofTable(plan: LogicalPlan): Boolean = plan match {
    case whole if SubqueryCopies.isWhole(whole)                        => false
    case Project(_, child)                                             => ofTable(child)
    case Filter(_, child)                                              => ofTable(child)
    case r: LogicalRelation                                            => r.relation.isInstanceOf[HadoopFsRelation]
    case _: HiveTableRelation | _: InMemoryRelation | _: LocalRelation => true
    case _                                                             => false
  }

  /**
   * Equal values of this type are the same for a join, a grouping and a hash function: no collations, no NaN, no zero
   * with a sign.
   */
  def isKey(t: DataType): Boolean = t match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType => true
    case s: StringType                                                                  => s == StringType
    case _                                                                              => false
  }
}
