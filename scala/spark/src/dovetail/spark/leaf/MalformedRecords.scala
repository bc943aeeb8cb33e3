package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** What the scan of a leaf does with malformed records: the option `mode` of text files. */
object MalformedRecords {

  /** Whether the scan fails at the first one. */
  def fail(leaf: LogicalPlan): Boolean = is("FAILFAST", leaf)

  /** Whether they are dropped: which records are malformed depends on the columns that a query reads. */
  def areDropped(leaf: LogicalPlan): Boolean = is("DROPMALFORMED", leaf)

  private def is(mode: String, leaf: LogicalPlan): Boolean = (leaf match {
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation => CaseInsensitiveMap(f.options).get(Mode)
        case _                   => None
      }
    case r: DataSourceV2ScanRelation => Option(r.relation.options.get(Mode))
    case _                           => None
  }).exists(_.equalsIgnoreCase(mode))

  private val Mode = "mode"
}
