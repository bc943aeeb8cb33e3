package org.apache.spark.sql.dovetail.log

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.dovetail.base.{ContextListener, FailOpen}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

/**
 * Reports the runs of a context to the [[QueryLog]]s of its sessions. Spark calls it in another thread after the query,
 * so the query is not delayed.
 */
private[log] object RunListener extends SparkListener {
  private val once = new ContextListener(this)

  /** Callers must not hold the lock of the logs, which this listener needs. */
  def watch(context: SparkContext): Unit = { once.watch(context); () }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case e: SparkListenerSQLExecutionEnd => FailOpen("logging a query", (_: String) => ())(ended(e))
    case _                               =>
  }

  // only queries with a name are actions of a Dataset or commands, of which Spark tells its own listeners, too
  private def ended(e: SparkListenerSQLExecutionEnd): Unit =
    for {
      name      <- e.executionName
      execution <- Option(e.qe)
      log       <- QueryLog.of(execution.sparkSession) if log.all.nonEmpty
    } e.executionFailure match {
      case Some(failure) => log.failed(execution, failure)
      case None          => log.ran(execution, name, e.duration)
    }
}
