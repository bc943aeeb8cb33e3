package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.connector.expressions.{Expression => V2Expression, Literal => V2Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan, V1ScanWrapper}
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
   * the user that makes the rows, the conversion of rows to Spark's, the extraction of VARIANT values, or a predicate
   * that a database computes. None for other leaves, and for operators that are no leaves.
   */
  def apply(plan: LogicalPlan): Option[String] = plan match {
    case l: LeafNode if ExtractedVariants(l).nonEmpty   => Some(OfVariants)
    case r: LogicalRelation if MalformedRecords.fail(r) => Some(FailFastScan)
    case r: DataSourceV2ScanRelation                    => r.scan match {
        case _: FileScan if MalformedRecords.fail(r)           => Some(FailFastScan)
        case s if s.getClass.getName.startsWith(PythonSources) => Some("its Python data source")
        case w: V1ScanWrapper
            if w.pushedDownOperators.pushedPredicates.exists(computes) => Some("a predicate in its database")
        case _ => None
      }
    case l: LeafNode if runsProgram(l)       => Some(OfRdd)
    case l: LeafNode if LocalRows.mayFail(l) => Some(OfConversion)
    case _                                   => None
  }

  /**
   * Whether a predicate that Spark has pushed into the scan of a JDBC catalog's table computes anything: a quotient, a
   * cast, a function. The plan does not show the predicate any more, and the database may fail in it.
   */
  private[dovetail] def computes(e: V2Expression): Boolean = e match {
    case _: V2Literal[_] | _: NamedReference => false
    case p: V2Predicate                      => !Comparisons(p.name) || p.children.exists(computes)
    case _                                   => true
  }

  /** Names that Spark gives the predicates without arithmetic. */
  private val Comparisons = Set(
    "AND",
    "OR",
    "NOT",
    "=",
    "<>",
    "<=>",
    "<",
    "<=",
    ">",
    ">=",
    "IN",
    "IS_NULL",
    "IS_NOT_NULL",
    "STARTS_WITH",
    "ENDS_WITH",
    "CONTAINS",
    "ALWAYS_TRUE",
    "ALWAYS_FALSE"
  )

  /**
   * Whether reading the leaf runs a program of the user, which may have effects: it counts with an accumulator, or
   * commits the state of a streaming query whose batch it is (`foreachBatch`).
   */
  def runsProgram(leaf: LogicalPlan): Boolean = leaf match {
    case r: LogicalRDD       => !r.rdd.isCheckpointed && LocalRows(r).isEmpty
    case r: ExternalRDD[_]   => LocalRows(r).isEmpty
    case r: InMemoryRelation => FillingPlan.mayRun(r) && fillsByProgram(r)
    case _                   => false
  }

  private val fillsByProgram = FillingPlan.remembered(_.exists(_.exists(runsProgram)))

  private val FailFastScan = "its scan in the mode FAILFAST"

  private val OfRdd = "the functions of its RDD"

  private val OfConversion = "the conversion of its rows"

  private val OfVariants = "the conversion of VARIANT values in its scan"

  /** Package of data sources that users write in Python (from Spark 4 on). */
  private val PythonSources = "org.apache.spark.sql.execution.datasources.v2.python."
}
