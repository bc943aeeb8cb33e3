package org.apache.spark.sql.dovetail.plan

import java.util.{Collections, LinkedHashMap, WeakHashMap}

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Join, LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.FailOpen
import org.apache.spark.sql.dovetail.stats.LeafStatistics
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.util.QueryExecutionListener

/**
 * Broadcasts of ours with which a query failed: too large for the driver, for an executor, or for the time they have. Spark cannot take a broadcast back that
 * it has begun, so the query is lost, but it is the last one: what was to be broadcast is known by its plan, and is not broadcast by us again in this JVM.
 */
object FailedBroadcasts {

  /** Signatures that are kept: more broadcasts than this do not fail before somebody looks. */
  private val Most = 1000

  private val failed = Collections.synchronizedMap(new LinkedHashMap[Int, Unit] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[Int, Unit]): Boolean = size > Most
  })

  private val watched = Collections.synchronizedMap(new WeakHashMap[SparkSession, java.lang.Boolean])

  /** Whether this input may be broadcast; from the first time on, Spark tells us what fails in this session. */
  def mayBe(build: LogicalPlan, session: SparkSession): Boolean = {
    if (watched.put(session, true) == null) session.listenerManager.register(Listener)
    !failed.containsKey(signature(build))
  }

  /** Tables, and the plan as text without expression ids: functions of users are other objects each time a query is read, and have the same names. */
  private def signature(build: LogicalPlan): Int =
    (build.collectLeaves().collect { case l: LeafNode => LeafStatistics.name(l) }, build.canonicalized.toString).hashCode

  private object Listener extends QueryExecutionListener {
    override def onSuccess(function: String, execution: QueryExecution, nanos: Long): Unit  = ()
    override def onFailure(function: String, execution: QueryExecution, e: Exception): Unit =
      FailOpen("noting a failed broadcast", (_: String) => ())(if (ofBroadcast(e)) learn(execution.optimizedPlan))
  }

  private def learn(plan: LogicalPlan): Unit = for {
    (j, side) <- plan.collectWithSubqueries { case j: Join if j.getTagValue(JoinChoice.Tag).isDefined => (j, j.getTagValue(JoinChoice.Tag).get) }
  } failed.put(signature(JoinChoice.input(j, side)), ())

  /** Spark has no type of its own for these: a time-out, a size over its limits, results over the driver's limit, no memory. */
  private def ofBroadcast(e: Throwable): Boolean = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(CausesSeen).exists {
    case _: OutOfMemoryError => true
    case NonFatal(cause)     => Option(cause.getMessage).exists(m => m.contains("broadcast") || m.contains("maxResultSize"))
    case _                   => false
  }

  /** Causes of causes that are looked at: a chain may be a circle. */
  private val CausesSeen = 20
}
