package org.apache.spark.sql.dovetail.stats

import org.apache.spark.sql.internal.SQLConf

/** What Spark asks a scan of a data source. From Spark 4.3 on, it asks for rows only with plan statistics. */
private[dovetail] object ScanStatistics {
  def asksRows(conf: SQLConf): Boolean = conf.planStatsEnabled || conf.cboEnabled
}
