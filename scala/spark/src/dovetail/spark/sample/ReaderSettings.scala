package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.internal.SQLConf

/**
 * Settings of a session by which Spark reads other values from the same files: rows that were read under some are no
 * facts under others.
 */
private[sample] object ReaderSettings {

  /** Those that somebody has set. */
  def apply(conf: SQLConf): Map[String, String] = conf.getAllConfs.filter { case (key, _) =>
    Prefixes.exists(key.startsWith)
  }

  /** Time zones, calendars, letter case, names of columns that take malformed lines, files that may be left out. */
  private val Prefixes = Seq(
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.columnNameOfCorruptRecord",
    "spark.sql.ansi.",
    "spark.sql.timestampType",
    "spark.sql.files.ignore",
    "spark.sql.parquet.",
    "spark.sql.orc.",
    "spark.sql.csv.",
    "spark.sql.json.",
    "spark.sql.legacy."
  )
}
