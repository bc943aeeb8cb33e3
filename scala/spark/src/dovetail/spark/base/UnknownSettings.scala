package org.apache.spark.sql.dovetail.base

import java.util.Locale

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.types.UTF8String

/**
 * Warns about keys below `spark.dovetail.` that are not settings, or that differ from one in letter case. Spark accepts
 * any key without a warning. The rule checks the session's keys with each query, so that it does not matter where a key
 * was set: in a configuration file, on a builder, or by SET. Each unknown key is logged once, with the nearest name.
 */
object UnknownSettings {
  private val Prefix = "spark.dovetail."
  private val known  = DovetailConf.all.map(_.key)
  private val keys   = known.toSet

  /** Iterates over the keys in place, to avoid a copy of all keys for each query. */
  def tell(conf: SQLConf): Unit = conf.settings.keySet.forEach { key =>
    if (key.startsWith(Prefix) && !keys(key))
      FailOpen.warnOnce(
        s"unknown $key",
        s"There is no setting $key, so it has no effect. The nearest name is ${nearest(key)}."
      )
  }

  /**
   * The name with the smallest edit distance. The last words of the names are compared too, because a key may lack the
   * part before the last word (`spark.dovetail.excludeTables`).
   */
  private def nearest(key: String): String =
    known.minBy(k => math.min(distance(key, k), distance(lastWord(key), lastWord(k)) + 1))

  private def lastWord(key: String): String = key.drop(key.lastIndexOf('.') + 1)

  private def distance(a: String, b: String): Int = text(a).levenshteinDistance(text(b))

  private def text(a: String): UTF8String = UTF8String.fromString(a.toLowerCase(Locale.ROOT))
}
