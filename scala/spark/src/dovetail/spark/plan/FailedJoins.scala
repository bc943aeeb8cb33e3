package org.apache.spark.sql.dovetail.plan

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean
import java.util.{Collections, WeakHashMap}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.util.QueryExecutionListener
import org.apache.spark.util.ShutdownHookManager

/**
 * Learns from queries that fail with a broadcast or a hash table of ours: too large for the driver, for an executor,
 * for a task, or for the time they have. Spark cannot take either back once it has begun, so the query is lost, but it
 * is the last one: the choice is known again by its [[ChosenJoin]], and is not made again ([[JoinFailures]]).
 *
 * A driver that dies takes its listeners along. As far as the JVM still ends in order, the choices of the queries that
 * were running count as failed: Spark ends it so when a thread has run out of memory. Of a driver that is killed
 * nothing is known.
 */
object FailedJoins {

  /** Whether the choice may be made; from the first time on, Spark tells us what fails in this session. */
  def mayBe(choice: ChosenJoin, session: SparkSession): Boolean = {
    watch(session)
    reason(choice, session).isEmpty
  }

  /** Why it is not to be made again, if it is not. */
  def reason(choice: ChosenJoin, session: SparkSession): Option[String] = {
    val failures = JoinFailures(session)
    if (failures.isEmpty) None else failures.find(choice.signature).map(_.toString)
  }

  private val watched = Collections.synchronizedMap(new WeakHashMap[SparkSession, java.lang.Boolean])
  private val hooked  = new AtomicBoolean

  // Spark's bus takes a listener as often as it is added, and sessions of a server come and go: once for all of a context
  private val heard =
    Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap[SparkContext, java.lang.Boolean]))

  private def watch(session: SparkSession): Unit = if (watched.put(session, true) == null) {
    // a cloned session has the listeners of the one that it was made of
    session.listenerManager.unregister(OfQueries)
    session.listenerManager.register(OfQueries)
    if (heard.add(session.sparkContext)) session.sparkContext.addSparkListener(RunningQueries)
    if (!hooked.getAndSet(true))
      ShutdownHookManager.addShutdownHook(ShutdownHookManager.SPARK_CONTEXT_SHUTDOWN_PRIORITY + 1)(() =>
        RunningQueries.lost()
      )
  }

  private object OfQueries extends QueryExecutionListener {
    override def onSuccess(function: String, execution: QueryExecution, nanos: Long): Unit  = ()
    override def onFailure(function: String, execution: QueryExecution, e: Exception): Unit =
      FailOpen("noting a failed join", (_: String) => ())(shortage(e).foreach(learn(execution, _)))
  }

  /** Queries that have begun and not ended, in this JVM. */
  private object RunningQueries extends SparkListener {
    private val executions = ConcurrentHashMap.newKeySet[Long]()

    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case s: SparkListenerSQLExecutionStart => executions.add(s.executionId); ()
      case e: SparkListenerSQLExecutionEnd   => executions.remove(e.executionId); ()
      case _                                 =>
    }

    def lost(): Unit = executions.forEach { id =>
      FailOpen(
        "noting a lost join",
        (_: String) => ()
      )(Option(SQLExecution.getQueryExecution(id)).foreach(learn(_, "the driver ended")))
    }
  }

  private def learn(execution: QueryExecution, reason: String): Unit = {
    val choices = ChosenJoin.in(execution.executedPlan)
    if (choices.nonEmpty) {
      val failures = choices.map(_.failure(reason)).groupBy(_.join).values.map(_.head).toVector.sortBy(_.join)
      JoinFailures(execution.sparkSession).add(failures)
      failures.foreach(f => FailOpen.warnOnce(s"join ${f.join}", s"A query failed. From now on $f."))
    }
  }

  /**
   * What there was too little of, as the failure says; None where it failed of something else. Spark has no type of its
   * own for most of these.
   */
  private def shortage(e: Throwable): Option[String] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(CausesSeen).flatMap {
      case _: OutOfMemoryError => Some("out of memory")
      case cause               => Option(cause.getMessage).flatMap(m =>
          Shortages.collectFirst { case (sign, reason) if m.contains(sign) => reason }
        )
    }.toSeq.headOption

  /** Causes of causes that are looked at: a chain may be a circle. */
  private val CausesSeen = 20

  /** What messages say, the more special first. */
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
    "broadcast"                   -> "the broadcast failed"
  )
}
