package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.internal.SQLConf

/**
 * Settings of a session that change which values Spark reads from the same files. Rows that were read under one set of
 * values are not valid under another one.
 */
object ReaderSettings {

  /** Those of these settings that are set in the session. */
  def apply(conf: SQLConf): Map[String, String] = conf.getAllConfs.filter { case (key, _) =>
    Prefixes.exists(key.startsWith)
  }

  /** Time zones, calendars, letter case, names of the column for malformed lines, files that may be skipped. */
  private val Prefixes = Seq(
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.columnNameOfCorruptRecord",
    "spark.sql.ansi.",
    "spark.sql.timestampType",
    "spark.sql.files.ignore",
    "spark.sql.files.archive.",
    "spark.sql.avro.",
    "spark.sql.variant.",
    "spark.sql.parquet.",
    "spark.sql.orc.",
    "spark.sql.csv.",
    "spark.sql.json.",
    "spark.sql.legacy."
  )
}
