package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.Source
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.dovetail.leaf.{HiddenRows, MalformedRecords, SkippedFiles}
import org.apache.spark.sql.dovetail.sample.CountableInput
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/**
 * Inputs that have a row whenever the query runs: a row that passes their filters was seen in the files that the query
 * reads. An estimate is no proof, nor are statistics of a catalog. `plan.SparedInputs` uses this.
 *
 * Left out are tables that may lose rows after planning: partitioned and very large ones, which Spark may filter by the
 * keys of other inputs at run time, those of which it skips files that are missing or corrupt, and text files whose
 * malformed records it drops: which records these are depends on the columns that a query reads.
 */
final class CertainRows(statistics: PlanStatistics) {

  /** The conjuncts of the filters of an input that certainly has a row; None for any other input. */
  def conjuncts(plan: LogicalPlan): Option[Vector[Expression]] = plan match {
    case CountableInput(leaf, all)
        if !plan.containsPattern(PLAN_EXPRESSION) && lasts(leaf) && (seen(plan) || counted(plan)) =>
      Some(all)
    case _ => None
  }

  private def seen(plan: LogicalPlan): Boolean = statistics.samples(plan).exists(_.hasRow)

  private def counted(plan: LogicalPlan): Boolean = {
    val rows = statistics(plan).rows
    rows.lower >= 1.0 && (rows.source == Source.Exact || rows.source == Source.Footer)
  }

  private def lasts(leaf: LeafNode): Boolean = leaf match {
    case _: LocalRelation   => true
    case r: LogicalRelation =>
      r.relation match {
        case files: HadoopFsRelation =>
          files.partitionSchema.isEmpty && !HiddenRows.possible(files) && !SkippedFiles.possible(files) &&
          !MalformedRecords.areDropped(leaf) &&
          files.sizeInBytes < leaf.conf.getConf(SQLConf.RUNTIME_BLOOM_FILTER_APPLICATION_SIDE_SCAN_SIZE_THRESHOLD)
        case _ => false
      }
    case _ => false
  }
}
