package org.apache.spark.sql.dovetail.leaf

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, DateType, TimestampType}

/**
 * Finds scans that may fail because of the data that they read. A query does not fail if it never reads such an input,
 * which an empty broadcast may see to. Damaged files and systems that do not answer do not count.
 */
object FailingScan {

  /**
   * What may fail in the scan of a leaf: a text file in the mode FAILFAST at its first malformed record, or a program
   * of the user that makes the rows. None for other leaves, and for operators that are no leaves.
   */
  def apply(plan: LogicalPlan): Option[String] = plan match {
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation if failsFast(CaseInsensitiveMap(f.options).get(Mode)) => Some(FailFastScan)
        case _                                                                         => None
      }
    case r: DataSourceV2ScanRelation => r.scan match {
        case _: FileScan if failsFast(Option(r.relation.options.get(Mode))) => Some(FailFastScan)
        case s if s.getClass.getName.startsWith(PythonSources)              => Some("its Python data source")
        case _                                                              => None
      }
    case r: LogicalRDD if !r.rdd.isCheckpointed && LocalRows(r).isEmpty => Some(OfRdd)
    case r: ExternalRDD[_] if LocalRows(r).isEmpty                      => Some(OfRdd)
    case _                                                              => None
  }

  /**
   * Dates or timestamps that an input reads from Parquet files, if Spark is to fail on those that may be of the legacy
   * calendar (the default of Spark 3.5). Only other writers than Spark make such files, and only old values fail.
   */
  def legacyDates(input: LogicalPlan): Option[String] = legacyDates(input, input.outputSet)

  /** @param read columns of the input that are read */
  private def legacyDates(input: LogicalPlan, read: AttributeSet): Option[String] = input match {
    case p: Project         => legacyDates(p.child, p.references)
    case f: Filter          => legacyDates(f.child, read ++ f.references)
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation
            if f.fileFormat.isInstanceOf[ParquetFileFormat] && failsOnLegacy(f, r.conf) &&
              r.output.exists(a => read.contains(a) && hasDates(a.dataType)) =>
          Some("dates or timestamps of the legacy calendar")
        case _ => None
      }
    case _ => None
  }

  private def failsOnLegacy(f: HadoopFsRelation, conf: SQLConf): Boolean = {
    val options = CaseInsensitiveMap(f.options)
    RebaseModes.exists { case (option, setting) =>
      options.get(option).orElse(settingOf(setting, conf)).exists(_.equalsIgnoreCase("EXCEPTION"))
    }
  }

  private def settingOf(key: String, conf: SQLConf): Option[String] =
    try Some(conf.getConfString(key))
    catch { case NonFatal(_) => None }

  private def hasDates(t: DataType): Boolean = t.existsRecursively(part => part == DateType || part == TimestampType)

  private def failsFast(mode: Option[String]): Boolean = mode.exists(_.equalsIgnoreCase("FAILFAST"))

  /** Option of text files: what happens at a malformed record. */
  private val Mode = "mode"

  private val FailFastScan = "its scan in the mode FAILFAST"

  private val OfRdd = "the functions of its RDD"

  /** Package of data sources that users write in Python (from Spark 4 on). */
  private val PythonSources = "org.apache.spark.sql.execution.datasources.v2.python."

  /** Option of Parquet files and setting: what happens at a value that may be of the legacy calendar. */
  private val RebaseModes = Seq(
    "datetimeRebaseMode" -> "spark.sql.parquet.datetimeRebaseModeInRead",
    "int96RebaseMode"    -> "spark.sql.parquet.int96RebaseModeInRead"
  )
}
