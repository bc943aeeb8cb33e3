package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * Columns by whose values the files of a leaf are divided: by a join on one of them Spark can prune its scan
 * (`PartitionPruning`), which the cost model knows.
 */
object PartitionColumns {

  /** By expression id; none of what is no scan, or more than a scan. */
  def apply(leaf: LogicalPlan): Set[Long] =
    LeafNames.below(leaf).fold(Seq.empty[Attribute])(partitionColumns).map(_.exprId.id).toSet & leaf.output.map(
      _.exprId.id
    ).toSet

  private def partitionColumns(scan: LeafNode): Seq[Attribute] = scan match {
    case h: HiveTableRelation => h.partitionCols
    case r: LogicalRelation   => r.relation match {
        case files: HadoopFsRelation => r.output.filter(a => files.partitionSchema.fieldNames.contains(a.name))
        case _                       => Nil
      }
    case _ => Nil
  }
}
