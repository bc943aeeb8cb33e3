package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * The partition columns of a leaf. If a join compares one of them, Spark can prune the scan (`PartitionPruning`), and
 * the cost model accounts for this.
 */
object PartitionColumns {

  /** Expression ids of the partition columns; empty if the plan is anything but filters and projections over a scan. */
  def apply(leaf: LogicalPlan): Set[Long] =
    LeafNames.below(leaf).fold(Seq.empty[Attribute])(partitionColumns).map(_.exprId.id).toSet & leaf.output.map(
      _.exprId.id
    ).toSet

  /** Whether Spark may leave out parts of what the plan reads, by the keys that a join finds at run time. */
  def prunedAtRun(plan: LogicalPlan): Boolean =
    plan.conf.dynamicPartitionPruningEnabled && plan.collectLeaves().exists {
      case v: DataSourceV2ScanRelation => !v.scan.isInstanceOf[FileScan]
      case leaf: LeafNode              => partitionColumns(leaf).nonEmpty
      case _                           => false
    }

  private def partitionColumns(scan: LeafNode): Seq[Attribute] = scan match {
    case h: HiveTableRelation => h.partitionCols
    case r: LogicalRelation   => r.relation match {
        case files: HadoopFsRelation => r.output.filter(a => files.partitionSchema.fieldNames.contains(a.name))
        case _                       => Nil
      }
    case _ => Nil
  }
}
