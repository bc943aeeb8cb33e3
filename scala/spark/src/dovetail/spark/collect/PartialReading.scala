package org.apache.spark.sql.dovetail.collect

import java.util.Locale

import org.apache.spark.sql.dovetail.deadline.TableVersion
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/**
 * Tells whether a relation lists only some files of its table, or those of an earlier version. The other files still
 * exist, so their statistics are kept, and the statistics of the listed ones are not those of the table.
 */
private[collect] object PartialReading {
  def apply(files: HadoopFsRelation): Boolean =
    TableVersion.isTimeTravel(files.location) || files.options.keys.exists(k => Options(k.toLowerCase(Locale.ROOT)))

  private val Options = Set("pathglobfilter", "modifiedbefore", "modifiedafter")
}
