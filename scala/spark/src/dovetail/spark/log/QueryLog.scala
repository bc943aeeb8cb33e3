package org.apache.spark.sql.dovetail.log

import java.time.Instant
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}
import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen, QueryText}
import org.apache.spark.sql.dovetail.report.{ActualRows, LazyValue, Trace}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.QueryExecutionListener
import org.apache.spark.util.ThreadUtils

/**
 * The last queries of a session that Dovetail looked at: what it decided, and, once they have run, what came of it
 * (`dovetail_queries()`).
 *
 * The rule adds an entry, which a thread of the log's own fills: planning does not wait for it. [[RunListener]] adds
 * the rows of its joins. An executed plan is known by the number of its entry, which the rule leaves on the joins and
 * Spark takes along; columns tell nothing, for queries of one table share them.
 */
final class QueryLog {
  import QueryLog._

  private val number  = logsMade.incrementAndGet()
  private var entries = Vector.empty[LoggedQuery]
  private var last    = 0L

  @volatile private var observers = Vector.empty[LoggedQuery => Unit]

  /** To be told of every query that has run. */
  def observe(observer: LoggedQuery => Unit): Unit = synchronized { observers = observers :+ observer }

  /** Oldest first. */
  def all: Vector[LoggedQuery] = synchronized(entries)

  /** Those that a physical plan belongs to: a query, and its subqueries. */
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

  /** In the log's thread. */
  private def fill(told: LazyValue[LoggedQuery.Told]): Unit = {
    waiting.incrementAndGet()
    thread.execute { () =>
      try { told.value; bound() }
      finally { waiting.decrementAndGet(); () }
    }
  }

  /** Forgets the oldest entries beyond what may be kept in memory; the last one stays. */
  private def bound(): Unit = synchronized {
    var bytes = 0L
    val kept  = entries.reverseIterator.takeWhile { e => bytes += e.bytes; bytes <= MostBytes }.size
    if (kept < entries.size) entries = entries.takeRight(math.max(1, kept))
  }

  /** A plan has run. */
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
   * A log, and the number of an entry in it. A cloned session, as each streaming query has one, also has the listeners
   * of the first one, whose log numbers its own queries.
   */
  final private case class Place(log: Long, id: Long)

  private val logsMade = new AtomicLong

  private val Entry = TreeNodeTag[Place]("dovetail.entry")

  /**
   * Of a plan and its subqueries. Adaptive execution can do away with joins while it runs: what it began with has them
   * all.
   */
  private def places(plan: SparkPlan): Set[Place] = plan match {
    case a: AdaptiveSparkPlanExec => places(a.initialPlan)
    case other                    =>
      other.logicalLink.flatMap(_.getTagValue(Entry)).toSet ++ (other.children ++ other.subqueries).flatMap(places)
  }

  /**
   * Queries whose entries wait to be filled, each with its plan: where a file system does not answer, they would pile
   * up. What comes then is left out.
   */
  private val MostWaiting = 200

  private val waiting = new AtomicInteger

  /** One in so many bytes of the heap. */
  private val PartOfHeap = 20L

  /** Bytes of a log's entries: of a hundred queries of 300 joins; no more than a part of a small driver's memory. */
  private val MostBytes = math.min(64L * 1024 * 1024, Runtime.getRuntime.maxMemory / PartOfHeap)

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

  /**
   * Runs the rule on `plan`, and keeps what it did; not where somebody else collects the trace: explain and profile
   * tell it themselves.
   */
  def keeping(session: SparkSession, plan: LogicalPlan)(rule: => LogicalPlan): LogicalPlan = {
    val most = DovetailConf.LogQueries.get(session.sessionState.conf).toInt
    if (most == 0 || Trace.isOn || waiting.get > MostWaiting) rule
    else {
      val (result, trace) = Trace.collecting(detailed = false)(rule)
      if (!trace.isEmpty)
        FailOpen("logging a query", (_: String) => ()) {
          // a plan can be too deep to be walked: it has an entry without a text
          def query = FailOpen("logging the text of a query", (_: String) => Option.empty[String])(text(plan))
          // constants and names are written as the session's settings say, in whatever thread
          val conf  = session.sessionState.conf
          val told  = new LazyValue(() => SQLConf.withExistingConf(conf)(LoggedQuery.Told(query, trace.groups)))
          val place = QueryLog(session).add(told, trace.millis.toMap.getOrElse("total", 0.0), most)
          // the optimizer works on a plan of its own
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

/** Tells the log what ran. Spark calls it in a thread of its own, after the query: it costs a query nothing. */
final class RunListener(log: QueryLog) extends QueryExecutionListener {
  override def onSuccess(function: String, execution: QueryExecution, nanos: Long): Unit =
    if (log.all.nonEmpty) FailOpen("logging a query", (_: String) => ())(log.ran(execution.executedPlan, nanos))

  override def onFailure(function: String, execution: QueryExecution, e: Exception): Unit = ()
}
