package org.apache.spark.sql.dovetail.log

import java.time.Instant
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}
import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen, HeapLimit, QueryText}
import org.apache.spark.sql.dovetail.report.{ActualRows, LazyValue, Trace}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.QueryExecutionListener
import org.apache.spark.util.ThreadUtils

/**
 * The log of a session's last queries that Dovetail optimized: its decisions, and the results after the queries have
 * run (`dovetail_queries()`).
 *
 * The rule adds an entry, and a background thread fills it, so planning does not wait for it. [[RunListener]] adds the
 * rows of the query's joins. The rule tags the joins with the number of the entry, and Spark keeps the tags in the
 * executed plan. Columns cannot identify the entry, because queries of one table share them.
 */
final class QueryLog {
  import QueryLog._

  private val number  = logsMade.incrementAndGet()
  private var entries = Vector.empty[LoggedQuery]
  private var last    = 0L

  @volatile private var observers = Vector.empty[LoggedQuery => Unit]

  /** Registers an observer that is called for every query that has run. */
  def observe(observer: LoggedQuery => Unit): Unit = synchronized { observers = observers :+ observer }

  /** All entries, the oldest first. */
  def all: Vector[LoggedQuery] = synchronized(entries)

  /** The entries of a physical plan: of the query and of its subqueries. */
  def entriesOf(plan: SparkPlan): Vector[LoggedQuery] = {
    val found = places(plan); all.filter(e => found(Place(number, e.id)))
  }

  private def add(told: LazyValue[LoggedQuery.Told], millis: Double, most: Int): Place = {
    val id = synchronized {
      last += 1
      entries = (entries :+ LoggedQuery(last, Instant.now(), told, millis, 0, None)).takeRight(most)
      last
    }
    fill(told)
    Place(number, id)
  }

  /** Makes the text and the reports of an entry, in the log's thread. */
  private def fill(told: LazyValue[LoggedQuery.Told]): Unit = {
    waiting.incrementAndGet()
    thread.execute { () =>
      try { told.value; bound() }
      finally { waiting.decrementAndGet(); () }
    }
  }

  /** Removes the oldest entries until the rest fits into the memory limit. The newest entry always stays. */
  private def bound(): Unit = synchronized {
    var bytes = 0L
    val kept  = entries.reverseIterator.takeWhile { e => bytes += e.bytes; bytes <= MostBytes }.size
    if (kept < entries.size) entries = entries.takeRight(math.max(1, kept))
  }

  /** Adds the results of a plan that has run. */
  def ran(plan: SparkPlan, nanos: Long): Unit = {
    val found = entriesOf(plan)
    if (found.nonEmpty) {
      val counted = found.map(e => e.id -> e.ran(ActualRows(plan, e.groups), nanos)).toMap
      synchronized { entries = entries.map(e => counted.getOrElse(e.id, e)) }
      for (observer <- observers; query <- counted.values) observer(query)
    }
  }
}

object QueryLog {

  /**
   * Number of a log, and number of an entry in it. The number of the log is needed because a cloned session (each
   * streaming query has one) also has the listeners of the original session, whose log has its own entry numbers.
   */
  final private case class Place(log: Long, id: Long)

  private val logsMade = new AtomicLong

  private val Entry = TreeNodeTag[Place]("dovetail.entry")

  /**
   * The entries that a plan and its subqueries are tagged with. Adaptive execution can remove joins at run time, so
   * this reads the initial plan, which has all of them.
   */
  private def places(plan: SparkPlan): Set[Place] = plan match {
    case a: AdaptiveSparkPlanExec => places(a.initialPlan)
    case other                    =>
      other.logicalLink.flatMap(_.getTagValue(Entry)).toSet ++ (other.children ++ other.subqueries).flatMap(places)
  }

  /**
   * Most entries that wait to be filled. Each keeps its plan in memory, and they would pile up if a file system did not
   * answer. Further queries are not logged.
   */
  private val MostWaiting = 200

  private val waiting = new AtomicInteger

  /** Most bytes of a log's entries: a hundred queries of 300 joins. */
  private val MostBytes = HeapLimit(64L * 1024 * 1024, part = 20L)

  /** Most characters of a query's text that are kept. */
  private val TextKept = 2000

  /** Seconds without a query after which the log's thread ends. */
  private val IdleSeconds = 10

  private lazy val thread = ThreadUtils.newDaemonCachedThreadPool("dovetail-log", 1, IdleSeconds)

  // weak keys, so that a log is garbage collected with its session
  private val logs = Collections.synchronizedMap(new WeakHashMap[SparkSession, QueryLog])

  /** The session's log. The first call creates it and registers its listener with Spark. */
  def apply(session: SparkSession): QueryLog = logs.synchronized {
    Option(logs.get(session)).getOrElse {
      val log = new QueryLog
      logs.put(session, log)
      session.listenerManager.register(new RunListener(log))
      log
    }
  }

  /**
   * Runs the rule on `plan`, and logs what it did. It does not log if a trace is already being collected, because
   * explain and profile report the trace themselves.
   */
  def keeping(session: SparkSession, plan: LogicalPlan)(rule: => LogicalPlan): LogicalPlan = {
    val most = DovetailConf.LogQueries.get(session.sessionState.conf).toInt
    if (most == 0 || Trace.isOn || waiting.get > MostWaiting) rule
    else {
      val (result, trace) = Trace.collecting(detailed = false)(rule)
      if (!trace.isEmpty)
        FailOpen("logging a query", (_: String) => ()) {
          // a plan can be too deep for recursion; its entry has no text then
          def query = FailOpen("logging the text of a query", (_: String) => Option.empty[String])(text(plan))
          // the log's thread writes constants and names according to the session's settings
          val conf  = session.sessionState.conf
          val told  = new LazyValue(() => SQLConf.withExistingConf(conf)(LoggedQuery.Told(query, trace.groups)))
          val place = QueryLog(session).add(told, trace.millis.toMap.getOrElse("total", 0.0), most)
          // the tags may be set in place, because the optimizer works on its own copy of the plan
          result.foreach { case j: Join => j.setTagValue(Entry, place); case _ => }
        }
      result
    }
  }

  private def text(plan: LogicalPlan): Option[String] =
    plan.collectFirst(Function.unlift((p: LogicalPlan) =>
      p.origin.sqlText.map(QueryText.written(_)).filter(_.nonEmpty)
    ))
      .map(_.take(TextKept))
}

/** Reports runs to the log. Spark calls it in another thread after the query, so it does not delay the query. */
final class RunListener(log: QueryLog) extends QueryExecutionListener {
  override def onSuccess(function: String, execution: QueryExecution, nanos: Long): Unit =
    if (log.all.nonEmpty) FailOpen("logging a query", (_: String) => ())(log.ran(execution.executedPlan, nanos))

  override def onFailure(function: String, execution: QueryExecution, e: Exception): Unit = ()
}
