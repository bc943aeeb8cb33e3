package org.apache.spark.sql.dovetail.leaf

import java.util.Locale

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/** Tables of which Spark skips files that it cannot read, so that two scans may return different rows. */
object SkippedFiles {

  /** Whether Spark may skip files of the table that a leaf reads. */
  def possible(leaf: LogicalPlan): Boolean = leaf match {
    case r: LogicalRelation => r.relation match {
        case files: HadoopFsRelation => possible(files)
        case _                       => false
      }
    case v: DataSourceV2ScanRelation =>
      isSet(v.conf) || v.relation.options.keySet.stream.anyMatch(isOption(_))
    case _ => false
  }

  /** Whether Spark may skip files of a table. An option counts whatever its value: not every format reads it. */
  def possible(files: HadoopFsRelation): Boolean =
    isSet(files.sparkSession.sessionState.conf) || files.options.keys.exists(isOption)

  private def isSet(conf: SQLConf): Boolean = conf.ignoreMissingFiles || conf.ignoreCorruptFiles

  private def isOption(key: String): Boolean = Options(key.toLowerCase(Locale.ROOT))

  private val Options = Set("ignoremissingfiles", "ignorecorruptfiles")
}
