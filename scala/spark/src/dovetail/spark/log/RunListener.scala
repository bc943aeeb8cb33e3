package org.apache.spark.sql.dovetail.log

import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.util.QueryExecutionListener

/** Tells the log what ran. Spark calls it in a thread of its own, after the query: it costs a query nothing. */
final class RunListener(log: QueryLog) extends QueryExecutionListener {
  override def onSuccess(function: String, execution: QueryExecution, nanos: Long): Unit =
    if (log.all.nonEmpty) FailOpen("logging a query", (_: String) => ())(log.ran(execution.executedPlan, nanos))

  override def onFailure(function: String, execution: QueryExecution, e: Exception): Unit = ()
}
