package org.apache.spark.sql.dovetail.history

import java.time.Instant
import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.FailOpen
import org.apache.spark.sql.dovetail.conf.DovetailConf
import org.apache.spark.sql.dovetail.explain.{ActualRows, Later, Trace}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.util.ThreadUtils

/**
 * The last queries of a session that Dovetail looked at: what it decided, and, once they have run, what came of it (`dovetail_queries()`).
 *
 * The rule adds an entry, which a thread of the log's own fills: planning does not wait for it. [[RunListener]] adds the rows of its joins. An executed plan is known by its columns, whose ids no two queries of a JVM share.
 */
final class QueryLog {
  private var entries = Vector.empty[LoggedQuery]
  private var last    = 0L

  /** Oldest first. */
  def all: Vector[LoggedQuery] = synchronized(entries)

  /** Those that a physical plan belongs to: a query, and its subqueries. */
  def of(plan: SparkPlan): Vector[LoggedQuery] = { val columns = ActualRows.columns(plan); all.filter(_.isIn(columns)) }

  private def add(told: Later[LoggedQuery.Told], millis: Double, most: Int): Unit = {
    synchronized {
      last += 1
      entries = (entries :+ LoggedQuery(last, Instant.now(), told, millis, 0, None)).takeRight(most)
    }
    QueryLog.thread.execute(() => told.value)
  }

  /** A plan has run. */
  def ran(plan: SparkPlan, nanos: Long): Unit = {
    val found = of(plan)
    if (found.nonEmpty) {
      val counted = found.map(e => e.id -> e.ran(ActualRows(plan, e.groups), nanos)).toMap
      synchronized { entries = entries.map(e => counted.getOrElse(e.id, e)) }
    }
  }
}

object QueryLog {

  /** Characters of a query's text that are kept. */
  private val TextKept = 2000

  /** Seconds without a query after which the log's thread ends. */
  private val IdleSeconds = 10

  private lazy val thread = ThreadUtils.newDaemonCachedThreadPool("dovetail-log", 1, IdleSeconds)

  // a session that is gone takes its log along
  private val logs = Collections.synchronizedMap(new WeakHashMap[SparkSession, QueryLog])

  /** The session's log; the first call makes Spark tell it what ran. */
  def apply(session: SparkSession): QueryLog = logs.synchronized {
    Option(logs.get(session)).getOrElse {
      val log = new QueryLog
      logs.put(session, log)
      session.listenerManager.register(new RunListener(log))
      log
    }
  }

  /** Runs the rule on `plan`, and keeps what it did; not where somebody else collects the trace: explain and profile tell it themselves. */
  def keeping[A](session: SparkSession, plan: LogicalPlan)(rule: => A): A = {
    val most = DovetailConf.LogQueries.get(session.sessionState.conf).toInt
    if (most == 0 || Trace.isOn) rule
    else {
      val (result, trace) = Trace.collecting(detailed = false)(rule)
      if (!trace.isEmpty)
        FailOpen("logging a query", (_: String) => ()) {
          val told = new Later(() => LoggedQuery.Told(text(plan), trace.groups))
          QueryLog(session).add(told, trace.millis.toMap.getOrElse("total", 0.0), most)
        }
      result
    }
  }

  private def text(plan: LogicalPlan): Option[String] = plan.collectFirst { case p if p.origin.sqlText.isDefined => p.origin.sqlText.get.take(TextKept) }
}
