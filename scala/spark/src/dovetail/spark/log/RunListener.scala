package org.apache.spark.sql.dovetail.log

import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.util.QueryExecutionListener

/** Reports runs to the [[QueryLog]]. Spark calls it in another thread after the query, so the query is not delayed. */
final class RunListener(log: QueryLog) extends QueryExecutionListener {
  override def onSuccess(function: String, execution: QueryExecution, nanos: Long): Unit =
    logging(log.ran(execution, function, nanos))

  override def onFailure(function: String, execution: QueryExecution, e: Exception): Unit =
    logging(log.failed(execution, e))

  private def logging(body: => Unit): Unit =
    if (log.all.nonEmpty) FailOpen("logging a query", (_: String) => ())(body)
}
