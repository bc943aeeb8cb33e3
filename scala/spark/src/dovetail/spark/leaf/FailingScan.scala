package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD}

/**
 * Finds scans that may fail because of the data that they read. A query does not fail if it never reads such an input,
 * which an empty broadcast may see to. Damaged files and systems that do not answer do not count. Nor do dates of the
 * legacy calendar in Parquet files of other writers, at which Spark 3.5 fails by default: nothing in a plan tells these
 * rare files apart, and orders of all tables with dates would be forbidden.
 */
object FailingScan {

  /**
   * What may fail in the scan of a leaf: a text file in the mode FAILFAST at its first malformed record, a program of
   * the user that makes the rows, or the extraction of VARIANT values. None for other leaves, and for operators that
   * are no leaves.
   */
  def apply(plan: LogicalPlan): Option[String] = plan match {
    case l: LeafNode if ExtractedVariants(l).nonEmpty   => Some(OfVariants)
    case r: LogicalRelation if MalformedRecords.fail(r) => Some(FailFastScan)
    case r: DataSourceV2ScanRelation                    => r.scan match {
        case _: FileScan if MalformedRecords.fail(r)           => Some(FailFastScan)
        case s if s.getClass.getName.startsWith(PythonSources) => Some("its Python data source")
        case _                                                 => None
      }
    case l: LeafNode if runsProgram(l) => Some(OfRdd)
    case _                             => None
  }

  /**
   * Whether reading the leaf runs a program of the user, which may have effects: it counts with an accumulator, or
   * commits the state of a streaming query whose batch it is (`foreachBatch`).
   */
  def runsProgram(leaf: LogicalPlan): Boolean = leaf match {
    case r: LogicalRDD     => !r.rdd.isCheckpointed && LocalRows(r).isEmpty
    case r: ExternalRDD[_] => LocalRows(r).isEmpty
    case _                 => false
  }

  private val FailFastScan = "its scan in the mode FAILFAST"

  private val OfRdd = "the functions of its RDD"

  private val OfVariants = "the conversion of VARIANT values in its scan"

  /** Package of data sources that users write in Python (from Spark 4 on). */
  private val PythonSources = "org.apache.spark.sql.execution.datasources.v2.python."
}
