package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** Columns by whose values the files of a leaf are divided: by a join on one of them Spark can prune its scan (`PartitionPruning`), which the cost model knows. */
object PartitionColumns {

  /** By expression id; none of what is no scan, or more than a scan. */
  def apply(leaf: LogicalPlan): Set[Long] = leaf match {
    case p: Project           => val below = apply(p.child); p.output.map(_.exprId.id).filter(below).toSet
    case f: Filter            => apply(f.child)
    case h: HiveTableRelation => h.partitionCols.map(_.exprId.id).toSet
    case r: LogicalRelation   => r.relation match {
        case files: HadoopFsRelation => r.output.filter(a => files.partitionSchema.fieldNames.contains(a.name)).map(_.exprId.id).toSet
        case _                       => Set.empty
      }
    case _ => Set.empty
  }
}
