package org.apache.spark.sql.dovetail.base

import java.util.concurrent.ThreadFactory

/**
 * Makes daemon threads that inherit no thread locals and no class loader. A thread normally inherits thread locals
 * (among them Spark's active session) and the class loader of the query that happens to need it first. That would keep
 * the session of this query in memory as long as the thread lives.
 */
final class DetachedThreads(name: String) extends ThreadFactory {
  override def newThread(task: Runnable): Thread = {
    val thread = new Thread(null, task, name, DetachedThreads.DefaultStack, false)
    thread.setDaemon(true)
    thread.setContextClassLoader(getClass.getClassLoader)
    thread
  }
}

private object DetachedThreads {

  /** Bytes of a thread's stack; 0 is the default of the JVM. */
  val DefaultStack = 0L
}
