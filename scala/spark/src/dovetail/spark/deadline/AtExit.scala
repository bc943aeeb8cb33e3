package org.apache.spark.sql.dovetail.deadline

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.util.ShutdownHookManager
import org.apache.spark.util.ShutdownHookManager.SPARK_CONTEXT_SHUTDOWN_PRIORITY

/**
 * Work that is done when the JVM ends. It runs in a thread of its own, and the end does not wait long for it: a store
 * that does not answer must not block the exit of the JVM.
 */
object AtExit {

  /** Before Spark stops its context, and with it the queries. */
  def beforeContext(what: String)(body: => Unit): Unit =
    add(what, SPARK_CONTEXT_SHUTDOWN_PRIORITY + 1)(Vector(() => body))

  /**
   * After Spark has stopped its context, which reports the last queries.
   *
   * @param parts parts of the work that do not wait for each other; known when the JVM ends
   */
  def afterContext(what: String)(parts: => Vector[() => Unit]): Unit =
    add(what, SPARK_CONTEXT_SHUTDOWN_PRIORITY - 1)(parts)

  private def add(what: String, priority: Int)(parts: => Vector[() => Unit]): Unit = {
    def run(): Unit = {
      val until   = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(EndMillis)
      val threads = parts.map(part => Aside.start("dovetail-end", () => FailOpen(what, (_: String) => ())(part())))
      // a time of 0 would wait for ever
      threads.foreach(_.join(math.max(1L, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime()))))
    }
    try { ShutdownHookManager.addShutdownHook(priority)(() => run()); () }
    catch {
      // the JVM is ending already
      case _: IllegalStateException => ()
    }
  }

  /** Milliseconds that the exit of the JVM waits for all parts of the work together. */
  private val EndMillis = 2000L
}
