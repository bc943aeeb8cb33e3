package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.dovetail.group.SubqueryCopies
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types._

/**
 * Finds inputs that may be read a second time for their keys, to remove rows of other inputs early: by
 * [[SemiJoinReduction]] and by Bloom filters ([[ReducerFilters]]).
 */
object RereadInput {

  /**
   * Whether the input has rows of one table, restricted by predicates, that are the same each time they are read.
   * Excludes the output of a program and a table of another system. Also excludes an input that may fail if it is
   * computed for all rows, as a broadcast does.
   */
  def apply(plan: LogicalPlan): Boolean =
    plan.deterministic && !plan.containsPattern(PLAN_EXPRESSION) && ofTable(plan) && !SparedInputs.mayFail(plan)

  private def ofTable(plan: LogicalPlan): Boolean = plan match {
    case whole if SubqueryCopies.isWhole(whole) => false
    case Project(_, child)                      => ofTable(child)
    case Filter(_, child)                       => ofTable(child)
    case r: LogicalRelation                     => r.relation.isInstanceOf[HadoopFsRelation]
    // blocks that do not fit into memory are computed again
    case r: InMemoryRelation                     => deterministic(r.cachedPlan)
    case _: HiveTableRelation | _: LocalRelation => true
    case _                                       => false
  }

  private def deterministic(plan: SparkPlan): Boolean = plan match {
    case a: AdaptiveSparkPlanExec => deterministic(a.inputPlan)
    case other                    => other.expressions.forall(_.deterministic) && other.children.forall(deterministic)
  }

  /**
   * Whether equal values of this type are the same for a join, a grouping and a hash function. Excludes types with
   * collations, NaN, or a zero with a sign.
   */
  def isKey(t: DataType): Boolean = t match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType => true
    case s: StringType                                                                  => s == StringType
    case _                                                                              => false
  }
}
