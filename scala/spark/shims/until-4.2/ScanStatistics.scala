package org.apache.spark.sql.dovetail.stats

import org.apache.spark.sql.internal.SQLConf

/** What Spark asks a scan of a data source. Until Spark 4.2, it asks for all statistics. */
private[dovetail] object ScanStatistics {
  def asksRows(conf: SQLConf): Boolean = true
}
