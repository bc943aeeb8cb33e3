package org.apache.spark.sql.dovetail.plan

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean
import java.util.{Collections, WeakHashMap}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.deadline.AtExit
import org.apache.spark.sql.dovetail.report.ExecutedPlan
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.util.QueryExecutionListener

/**
 * Learns from queries that fail with a broadcast or a hash table that Dovetail chose: it was too large for the driver,
 * an executor or a task, or it took too long. Spark cannot undo either choice once it runs, so the query fails, but no
 * later query fails in this way: Dovetail recognizes the choice by its [[ChosenJoin]] and does not make it again
 * ([[JoinFailures]]).
 *
 * If the driver dies, its listeners die with it. If Spark ends the JVM because of an error that nobody caught (out of
 * memory, above all), the choices of all queries that were running count as failed ([[FatalExit]]). Any other exit is
 * no failure of a query: a script that ends, a user who stops it, a cluster that takes the driver away. If the driver
 * is killed, nothing is recorded.
 */
object FailedJoins {

  /** Whether the choice may be made. The first call for a session registers listeners for its failing queries. */
  def mayBe(choice: ChosenJoin, session: SparkSession): Boolean = {
    watch(session)
    reason(choice, session).isEmpty
  }

  /** Why the choice must not be made again, or None if it may be made. */
  def reason(choice: ChosenJoin, session: SparkSession): Option[String] = {
    val failures = JoinFailures(session)
    // the signature of a table takes a time quadratic in its columns
    if (failures.isEmpty || !failures.mayHave(choice.method, choice.tables)) None
    else failures.find(choice.signature).map(_.toString)
  }

  private val watched = Collections.synchronizedMap(new WeakHashMap[SparkSession, java.lang.Boolean])
  private val hooked  = new AtomicBoolean

  // Spark's bus accepts the same listener several times, and a server opens and closes sessions: add it once per
  // context
  private val heard =
    Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap[SparkContext, java.lang.Boolean]))

  private def watch(session: SparkSession): Unit = if (watched.put(session, true) == null) {
    // a cloned session has the listeners of the session that it was cloned from
    session.listenerManager.unregister(OfQueries)
    session.listenerManager.register(OfQueries)
    if (heard.add(session.sparkContext)) session.sparkContext.addSparkListener(RunningQueries)
    if (!hooked.getAndSet(true))
      AtExit.beforeContext("noting lost joins")(if (FatalExit.isUnderWay) RunningQueries.lost())
  }

  private object OfQueries extends QueryExecutionListener {
    override def onSuccess(function: String, execution: QueryExecution, nanos: Long): Unit  = ()
    override def onFailure(function: String, execution: QueryExecution, e: Exception): Unit =
      FailOpen("noting a failed join", (_: String) => ())(
        shortage(e).foreach(learn(execution, _)(JoinFailures(execution.sparkSession).add(_)))
      )
  }

  /** Queries of this JVM that have begun and not ended. */
  private object RunningQueries extends SparkListener {
    private val executions = ConcurrentHashMap.newKeySet[java.lang.Long]()

    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case s: SparkListenerSQLExecutionStart => executions.add(s.executionId); ()
      case e: SparkListenerSQLExecutionEnd   => executions.remove(e.executionId); ()
      case _                                 =>
    }

    /** The choices of all running queries count as failed, and are written before this returns. */
    def lost(): Unit = {
      val running = executions.toArray(Array.empty[java.lang.Long]).toVector
      val stores  = running.map(noted(_)).flatMap(_.toVector)
      stores.distinct.foreach(s => FailOpen("writing lost joins", (_: String) => ())(s.save()))
    }

    private def noted(id: Long): Option[JoinFailures] =
      FailOpen("noting a lost join", (_: String) => Option.empty[JoinFailures]) {
        Option(SQLExecution.getQueryExecution(id)).map { execution =>
          val failures = JoinFailures(execution.sparkSession)
          learn(execution, "the driver ended because of an error")(failures.note(_))
          failures
        }
      }
  }

  private def learn(execution: QueryExecution, reason: String)(add: Seq[JoinFailure] => Unit): Unit = {
    val choices = ExecutedPlan.ofFailed(execution).toVector.flatMap(ChosenJoin.in)
    if (choices.nonEmpty) {
      val failures = choices.map(_.failure(reason)).groupBy(_.join).values.map(_.head).toVector.sortBy(_.join)
      add(failures)
      failures.foreach(f => FailOpen.warnOnce(s"join ${f.join}", s"A query failed. From now on $f."))
    }
  }

  /**
   * The resource that was short, according to the failure; None if the failure has another cause. Spark has no
   * exception type for most of these.
   */
  private def shortage(e: Throwable): Option[String] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(CausesSeen).flatMap {
      case _: OutOfMemoryError => Some("out of memory")
      case cause               => Option(cause.getMessage).flatMap(m =>
          Shortages.collectFirst { case (sign, reason) if m.contains(sign) => reason }
        )
    }.toSeq.headOption

  /** Most nested causes that are examined: a chain of causes may be a cycle. */
  private val CausesSeen = 20

  /** Parts of error messages and their meaning, the more specific parts first. */
  private val Shortages = Vector(
    "maxResultSize"               -> "the result was too large for the driver",
    "TaskResultLost"              -> "a result was lost",
    "OutOfMemory"                 -> "out of memory",
    "UNABLE_TO_ACQUIRE_MEMORY"    -> "out of memory",
    "Can't acquire"               -> "out of memory",
    "CANNOT_ACQUIRE_MEMORY"       -> "out of memory",
    "Java heap space"             -> "out of memory",
    "GC overhead limit"           -> "out of memory",
    "Not enough memory"           -> "out of memory",
    "exceeding memory limits"     -> "out of memory",
    "ExecutorLostFailure"         -> "an executor was lost",
    "EXECUTOR_BROADCAST_JOIN"     -> "the broadcast was too large",
    "Could not execute broadcast" -> "the broadcast took too long",
    "broadcastTimeout"            -> "the broadcast took too long",
    "maxBroadcastTableSize"       -> "the broadcast was too large",
    "Cannot broadcast"            -> "the broadcast was too large",
    "CANNOT_BROADCAST"            -> "the broadcast was too large"
  )
}
