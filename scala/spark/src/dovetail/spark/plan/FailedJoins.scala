package org.apache.spark.sql.dovetail.plan

import java.util.{Collections, WeakHashMap}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{ContextListener, FailOpen}
import org.apache.spark.sql.dovetail.deadline.AtExit
import org.apache.spark.sql.dovetail.log.{ChosenJoin, Shortage}
import org.apache.spark.sql.dovetail.report.ExecutedPlan
import org.apache.spark.sql.execution.ui.{SparkListenerSQLExecutionEnd, SparkListenerSQLExecutionStart}
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}

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

  /** Whether the choice may be made. The first call in a context registers a listener for failing queries. */
  def mayBe(choice: ChosenJoin, session: SparkSession): Boolean = {
    watch(session.sparkContext)
    reason(choice, session).isEmpty
  }

  /** Why the choice must not be made again, or None if it may be made. */
  def reason(choice: ChosenJoin, session: SparkSession): Option[String] = {
    val failures = JoinFailures(session)
    planned.put(session, failures)
    // the signature of a table takes a time quadratic in its columns
    if (failures.isEmpty || !failures.mayHave(choice.method, choice.tables)) None
    else failures.find(choice.signature).map(_.toString)
  }

  // The store of each session when it planned last. Listeners run as another user than the query did if the server
  // acts for its clients, and would find another store.
  private val planned = Collections.synchronizedMap(new WeakHashMap[SparkSession, JoinFailures])

  private def failuresOf(execution: QueryExecution): JoinFailures =
    Option(planned.get(execution.sparkSession)).getOrElse(JoinFailures(execution.sparkSession))

  private val hooked = new AtomicBoolean

  private val once = new ContextListener(Queries)

  private def watch(context: SparkContext): Unit =
    if (once.watch(context) && !hooked.getAndSet(true))
      AtExit.beforeContext("noting lost joins")(if (FatalExit.isUnderWay) Queries.lost())

  /**
   * Hears of the queries of all sessions of a context. A listener of one session would not hear of a query that reads a
   * cache: Spark plans the cached query in a session of its own.
   */
  private object Queries extends SparkListener {
    // those that have begun and not ended
    private val executions = ConcurrentHashMap.newKeySet[java.lang.Long]()

    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case s: SparkListenerSQLExecutionStart => executions.add(s.executionId); ()
      case e: SparkListenerSQLExecutionEnd   => executions.remove(e.executionId); ended(e)
      case _                                 =>
    }

    private def ended(e: SparkListenerSQLExecutionEnd): Unit = FailOpen("noting a failed join", (_: String) => ())(
      for (
        execution <- Option(e.qe); failure <- e.executionFailure;
        short     <- Shortage(failure) if Shortage.isOfJoinMethod(short)
      )
        learn(execution, short)(failuresOf(execution).add(_))
    )

    /** The choices of all running queries count as failed, and are written before this returns. */
    def lost(): Unit = {
      val running = executions.toArray(Array.empty[java.lang.Long]).toVector
      val stores  = running.map(noted(_)).flatMap(_.toVector)
      stores.distinct.foreach(s => FailOpen("writing lost joins", (_: String) => ())(s.save()))
    }

    private def noted(id: Long): Option[JoinFailures] =
      FailOpen("noting a lost join", (_: String) => Option.empty[JoinFailures]) {
        Option(SQLExecution.getQueryExecution(id)).map { execution =>
          val failures = failuresOf(execution)
          learn(execution, "the driver ended because of an error")(failures.note(_))
          failures
        }
      }
  }

  private def learn(execution: QueryExecution, reason: String)(add: Seq[JoinFailure] => Unit): Unit = {
    val choices = ExecutedPlan.ofFailed(execution).toVector.flatMap(ChosenJoin.in)
    if (choices.nonEmpty) {
      val failures = choices.map(c => JoinFailure.now(c.signature, c.method, c.tables, reason)).groupBy(
        _.join
      ).values.map(_.head).toVector.sortBy(_.join)
      add(failures)
      failures.foreach(f => FailOpen.warnOnce(s"join ${f.join}", s"A query failed. From now on $f."))
    }
  }
}
