package org.apache.spark.sql.dovetail.base

import java.util.{Collections, WeakHashMap}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerInterface

/**
 * A listener that hears of the queries of all sessions of a context. Spark's bus accepts a listener several times, and
 * a server opens and closes sessions, so each context gets it once.
 *
 * Listeners of single sessions are not for this: Spark gives each of these sessions, and each copy that it makes of one
 * to fill a cache, a bus of its own, through which all events of all jobs pass (SPARK-39864).
 */
final class ContextListener(listener: SparkListenerInterface) {

  // weak keys, so that contexts can be garbage collected
  private val heard =
    Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap[SparkContext, java.lang.Boolean]))

  /**
   * Adds the listener to a context, unless it has been added. Callers must not hold a lock that a listener waits for.
   *
   * @return whether it was added
   */
  def watch(context: SparkContext): Boolean = {
    val added = heard.add(context)
    if (added) context.addSparkListener(listener)
    added
  }
}
