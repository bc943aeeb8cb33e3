package org.apache.spark.sql.dovetail.base

import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.spark.internal.config.{ConfigEntry, TypedConfigBuilder}
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

/**
 * One setting of [[DovetailConf]].
 *
 * Entries are registered with Spark, so `SET spark.dovetail.…` checks a value when it is set. Spark also checks the
 * values of configuration files when it builds a session, and checks values again wherever it copies settings,
 * including in tasks. An error there would fail the session or the query. So an invalid value there gives the default
 * and one warning instead.
 *
 * @param kind  type of its values, for the documentation
 * @param range values that are allowed, for the documentation
 */
final case class Setting[T](entry: ConfigEntry[T], kind: String, range: String) {
  def key: String = entry.key

  def get(conf: SQLConf): T =
    try conf.getConf(entry)
    catch {
      case NonFatal(e) =>
        Setting.warn(key, entry.defaultValueString, e)
        entry.defaultValue.get
    }
}

/** The kinds of settings, with the checks of their values. */
private[base] object Setting {
  private val Since  = "0.1.0"
  private val log    = LoggerFactory.getLogger("dovetail")
  private val warned = ConcurrentHashMap.newKeySet[String]()

  private def warn(key: String, default: String, e: Throwable): Unit =
    if (warned.add(key))
      log.warn(s"$key has an invalid value. The default $default is used. ${ErrorCondition.text(e)}")

  def boolean(key: String, default: Boolean, doc: String): Setting[Boolean] =
    Setting(entry(SQLConf.buildConf(key).doc(doc).version(Since).booleanConf, default), "boolean", "true | false")

  def double(key: String, default: Double, low: Double, high: Double, doc: String): Setting[Double] = {
    val range = s"$low to $high"
    val conf  = SQLConf.buildConf(key).doc(doc).version(Since).doubleConf.checkValue(
      v => v >= low && v <= high,
      s"$key must be from $range."
    )
    Setting(entry(conf, default), "double", range)
  }

  def long(key: String, default: Long, low: Long, doc: String, high: Long = Long.MaxValue): Setting[Long] = {
    val range = if (high == Long.MaxValue) s"at least $low" else s"$low to $high"
    val conf  = SQLConf.buildConf(key).doc(doc).version(Since).longConf.checkValue(
      v => v >= low && v <= high,
      s"$key must be $range."
    )
    Setting(entry(conf, default), "long", range)
  }

  /**
   * A text setting, empty by default.
   *
   * @param wrong what is wrong with a value, or None if the value is valid; by default every text is valid
   */
  def text(key: String, doc: String, wrong: String => Option[String] = _ => None): Setting[String] = {
    val conf = SQLConf.buildConf(key).doc(doc).version(Since).stringConf
    Setting(
      entry(
        conf.transform(t => {
          wrong(t).foreach(why => throw ErrorCondition.InvalidSetting(s"$key: $why.", "key" -> key)); t
        }),
        ""
      ),
      "string",
      ""
    )
  }

  def choice(key: String, default: String, allowed: Seq[String], doc: String): Setting[String] =
    Setting(
      entry(SQLConf.buildConf(key).doc(doc).version(Since).stringConf.checkValues(allowed.toSet), default),
      "enum",
      allowed.mkString(" | ")
    )

  /** An entry that rejects an invalid value when somebody sets it. Elsewhere it gives the default and a warning. */
  private def entry[T](conf: TypedConfigBuilder[T], default: T): ConfigEntry[T] = {
    def parse(value: String): T =
      try conf.converter(value)
      catch { case NonFatal(e) if !beingSet => warn(conf.parent.key, default.toString, e); default }
    new TypedConfigBuilder[T](conf.parent, parse, conf.stringConverter).createWithDefault(default)
  }

  /**
   * Whether the current thread sets a value, rather than copies one. Called only for invalid values. Spark does not say
   * where a value comes from, but the call stack does: SET, `spark.conf.set` and Spark Connect go through the session's
   * `RuntimeConfig`, older code through `SQLContext.setConf`. All other calls copy existing values: settings of a file
   * or a builder to a new session, settings of a session to its clone or to the tasks of an RDD.
   */
  private def beingSet: Boolean = Thread.currentThread.getStackTrace.exists { f =>
    (f.getMethodName == "set" && f.getClassName.contains("RuntimeConfig")) ||
    (f.getMethodName == "setConf" && f.getClassName.endsWith("SQLContext"))
  }
}
