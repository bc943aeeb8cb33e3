package org.apache.spark.sql.dovetail.deadline

import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.util.ShutdownHookManager
import org.apache.spark.util.ShutdownHookManager.SPARK_CONTEXT_SHUTDOWN_PRIORITY

/**
 * Work that is done when the JVM ends. It runs in a thread of its own, and the end does not wait long for it: a store
 * that does not answer must not block the exit of the JVM.
 */
object AtExit {

  /** Before Spark stops its context, and with it the queries. */
  def beforeContext(what: String)(body: => Unit): Unit = add(what, SPARK_CONTEXT_SHUTDOWN_PRIORITY + 1)(body)

  /** After Spark has stopped its context, which reports the last queries. */
  def afterContext(what: String)(body: => Unit): Unit = add(what, SPARK_CONTEXT_SHUTDOWN_PRIORITY - 1)(body)

  private def add(what: String, priority: Int)(body: => Unit): Unit = {
    ShutdownHookManager.addShutdownHook(priority)(() =>
      Aside.start("dovetail-end", () => FailOpen(what, (_: String) => ())(body)).join(EndMillis)
    )
    ()
  }

  /** Milliseconds that the exit of the JVM waits for the work. */
  private val EndMillis = 2000L
}
