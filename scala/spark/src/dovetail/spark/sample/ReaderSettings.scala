package org.apache.spark.sql.dovetail.sample

import java.util.IdentityHashMap

import org.apache.spark.sql.internal.SQLConf

/**
 * Settings of a session that change which values Spark reads from the same files. Rows that were read under one set of
 * values are not valid under another one.
 *
 * One object serves one run of the rule, and copies the settings of a session only once.
 */
final class ReaderSettings {
  private val known = new IdentityHashMap[SQLConf, Map[String, String]]

  /** Those of these settings that are set in the session. */
  def apply(conf: SQLConf): Map[String, String] = known.computeIfAbsent(conf, ReaderSettings(_))
}

object ReaderSettings {

  /** The same at this moment. */
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
    "orc.",
    "spark.sql.csv.",
    "spark.sql.json.",
    "spark.sql.legacy."
  )
}
