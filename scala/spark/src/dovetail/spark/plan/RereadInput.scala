package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.dovetail.deadline.ListedFiles
import org.apache.spark.sql.dovetail.group.SubqueryCopies
import org.apache.spark.sql.dovetail.leaf.{ColumnarFormat, SkippedFiles}
import org.apache.spark.sql.execution._
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
   * Excludes an input that may fail if it is computed for all rows, as a broadcast does.
   *
   * A key that the second read misses removes rows from the answer, so only these tables count:
   *
   *   - files whose list does not change between two scans. An index of a catalog is listed at each scan, and
   *     partitions may be added in between; a Hive table is listed, too. Spark must not skip files either, because one
   *     that is there for the first scan may be missing for the second.
   *   - files of a columnar format. Of a text file, the columns that are read decide which records are malformed, so a
   *     read of the keys alone finds other rows. It also takes as long as a read of all columns.
   *   - cached scans of such files. Other cached plans may give other rows when lost blocks are computed again: the
   *     output of a program, a limit, row numbers with ties. A cached plan with a subquery of its own waits for that
   *     when it is filled. If a subquery of ours filled it, it would wait in the pool in which it runs itself.
   *   - rows in the plan itself.
   */
  def apply(plan: LogicalPlan): Boolean =
    plan.deterministic && !plan.containsPattern(PLAN_EXPRESSION) && ofTable(plan) && !InputFault.mayFail(plan)

  private def ofTable(plan: LogicalPlan): Boolean = plan match {
    case whole if SubqueryCopies.isWhole(whole) => false
    case Project(_, child)                      => ofTable(child)
    case Filter(_, child)                       => ofTable(child)
    case _: LocalRelation                       => true
    case leaf: LeafNode                         =>
      files(leaf).exists(f => ColumnarFormat(f) && ListedFiles.stay(f.location) && !SkippedFiles.possible(f))
    case _ => false
  }

  /** The files that a leaf reads, or that its cache was filled from by a scan, filters and projections. */
  def files(leaf: LeafNode): Option[HadoopFsRelation] = leaf match {
    case r: LogicalRelation  => Some(r.relation).collect { case f: HadoopFsRelation => f }
    case r: InMemoryRelation => scanned(r.cachedPlan)
    case _                   => None
  }

  private def scanned(plan: SparkPlan): Option[HadoopFsRelation] = plan match {
    case a: AdaptiveSparkPlanExec                                         => scanned(a.inputPlan)
    case _ if plan.expressions.exists(_.containsPattern(PLAN_EXPRESSION)) => None
    case f: FileSourceScanExec                                            => Some(f.relation)
    case _: ProjectExec | _: FilterExec | _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec
        if plan.expressions.forall(_.deterministic) => scanned(plan.children.head)
    case _ => None
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
